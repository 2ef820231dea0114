package mqchaos;

import com.google.gson.JsonObject;
import java.lang.reflect.Method;
import java.util.List;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyContext;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyContext;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.utils.MessageUtil;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** One push consumer: each message is shown to the harness, which says what became of it. */
final class Consumers {
    private final Lines lines;
    private final long handle;
    private final DefaultMQPushConsumer consumer;
    private DefaultMQProducer replies;

    Consumers(Lines lines, JsonObject open) throws Exception {
        this.lines = lines;
        handle = open.get("id").getAsLong();
        consumer = new DefaultMQPushConsumer(Messages.text(open, "group"));
        consumer.setNamesrvAddr(Messages.text(open, "nameservers"));
        consumer.setInstanceName(Messages.text(open, "instance"));
        consumer.setPollNameServerInterval(Messages.number(open, "poll_nameserver_ms", 30000));
        consumer.setConsumeMessageBatchMaxSize(1);
        consumer.setMaxReconsumeTimes(Messages.number(open, "max_times", -1));
        consumer.setConsumeFromWhere(Messages.text(open, "from_where").equals("last")
            ? ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET : ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        if (Messages.flag(open, "broadcast")) {
            broadcast(consumer);
        }
        consumer.setAllocateMessageQueueStrategy(new Told());
        subscribe(open);
        if (Messages.flag(open, "replies")) {
            replies = new DefaultMQProducer(Messages.text(open, "group") + "-replies");
            replies.setNamesrvAddr(Messages.text(open, "nameservers"));
            replies.setInstanceName(Messages.text(open, "instance") + "-replies");
            replies.start();
        }
        if (Messages.flag(open, "order")) {
            consumer.registerMessageListener((MessageListenerOrderly) this::inOrder);
        } else {
            consumer.registerMessageListener((MessageListenerConcurrently) this::concurrently);
        }
        consumer.start();
    }

    /** By reflection: the enumeration lies in another package since 5.0. */
    private static void broadcast(DefaultMQPushConsumer consumer) throws Exception {
        for (Method method : DefaultMQPushConsumer.class.getMethods()) {
            if (method.getName().equals("setMessageModel")) {
                for (Object model : method.getParameterTypes()[0].getEnumConstants()) {
                    if (model.toString().equals("BROADCASTING") || ((Enum<?>) model).name().equals("BROADCASTING")) {
                        method.invoke(consumer, model);
                    }
                }
            }
        }
    }

    private void subscribe(JsonObject open) throws Exception {
        String topic = Messages.text(open, "topic");
        if (Messages.has(open, "sql")) {
            consumer.subscribe(topic, MessageSelector.bySql(Messages.text(open, "sql")));
        } else {
            consumer.subscribe(topic, Messages.has(open, "expression") ? Messages.text(open, "expression") : "*");
        }
    }

    void close() {
        consumer.shutdown();
        if (replies != null) {
            replies.shutdown();
        }
    }

    void suspend(boolean on) {
        if (on) {
            consumer.suspend();
        } else {
            consumer.resume();
        }
    }

    private ConsumeConcurrentlyStatus concurrently(List<MessageExt> messages, ConsumeConcurrentlyContext context) {
        return isDone(messages.get(0), context.getMessageQueue())
            ? ConsumeConcurrentlyStatus.CONSUME_SUCCESS : ConsumeConcurrentlyStatus.RECONSUME_LATER;
    }

    private ConsumeOrderlyStatus inOrder(List<MessageExt> messages, ConsumeOrderlyContext context) {
        return isDone(messages.get(0), context.getMessageQueue())
            ? ConsumeOrderlyStatus.SUCCESS : ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT;
    }

    private boolean isDone(MessageExt message, MessageQueue queue) {
        JsonObject line = Lines.line("delivering");
        line.addProperty("consumer", handle);
        Messages.write(line, message);
        line.addProperty("topic", queue.getTopic());
        line.addProperty("origin", message.getTopic());
        Messages.write(line, queue);
        try {
            JsonObject answer = lines.ask(line);
            reply(message, answer);
            return Messages.text(answer, "result").equals("ok");
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    private void reply(MessageExt request, JsonObject answer) {
        if (replies == null || !Messages.has(answer, "reply")) {
            return;
        }
        try {
            Message reply = MessageUtil.createReplyMessage(request, Messages.bytes(answer, "reply"));
            replies.send(reply);
        } catch (Exception error) {
            JsonObject line = Lines.line("trouble");
            line.addProperty("text", "reply: " + error);
            lines.say(line);
        }
    }

    /** RocketMQ's own strategy, and a word about what it came to. */
    private final class Told extends AllocateMessageQueueAveragely {
        @Override
        public List<MessageQueue> allocate(
                String group, String client, List<MessageQueue> all, List<String> clients) {
            List<MessageQueue> mine = super.allocate(group, client, all, clients);
            JsonObject line = Lines.line("assigned");
            line.addProperty("consumer", handle);
            line.addProperty("topic", all.isEmpty() ? "" : all.get(0).getTopic());
            line.add("queues", Messages.queues(mine));
            lines.say(line);
            return mine;
        }
    }
}
