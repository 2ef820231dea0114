// Apache's own Java client against whatever broker is behind the NameServer of the first argument.
// Prints one line `name=value` for each thing that it saw; the test compares. Topics Java and JavaOrdered must exist.
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

public class OfficialClient {
    static final ConcurrentSkipListSet<String> seen = new ConcurrentSkipListSet<>();
    static final ConcurrentSkipListSet<String> retried = new ConcurrentSkipListSet<>();
    static final CopyOnWriteArrayList<String> ordered = new CopyOnWriteArrayList<>();

    static void say(String name, Object value) {
        System.out.println(name + "=" + value);
    }

    public static void main(String[] arguments) throws Exception {
        Thread watchdog = new Thread(() -> {
            try {
                Thread.sleep(80_000);
            } catch (InterruptedException ignored) {
                return;
            }
            say("watchdog", "80 s are over");
            Runtime.getRuntime().halt(3);
        });
        watchdog.setDaemon(true);
        watchdog.start();
        run(arguments[0]);
        System.exit(0);
    }

    static void run(String nameserver) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer("JavaGroup");
        consumer.setNamesrvAddr(nameserver);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe("Java", "TagA || TagB");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> consume(messages, context));
        consumer.start();

        DefaultMQPushConsumer inOrder = new DefaultMQPushConsumer("JavaOrderedGroup");
        inOrder.setNamesrvAddr(nameserver);
        inOrder.setInstanceName("ordered");
        inOrder.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        inOrder.subscribe("JavaOrdered", "*");
        inOrder.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
            messages.forEach(message -> ordered.add(new String(message.getBody())));
            return ConsumeOrderlyStatus.SUCCESS;
        });
        inOrder.start();

        DefaultMQProducer producer = new DefaultMQProducer("JavaProducer");
        producer.setNamesrvAddr(nameserver);
        producer.setSendMsgTimeout(20_000);
        producer.start();
        sendAll(producer);
        lookUp(producer);
        for (int i = 0; i < 600 && (seen.size() < 9 || ordered.size() < 12 || retried.isEmpty()); i++) {
            Thread.sleep(100);
        }
        say("seen", String.join(",", seen));
        say("retried", String.join(",", retried));
        say("ordered", String.join(",", ordered));
        consumer.shutdown();
        inOrder.shutdown();
        producer.shutdown();
    }

    static ConsumeConcurrentlyStatus consume(
        List<MessageExt> messages,
        org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyContext context
    ) {
        for (MessageExt message : messages) {
            if ("fails".equals(message.getKeys()) && message.getReconsumeTimes() == 0) {
                context.setDelayLevelWhenNextConsume(1);
                return ConsumeConcurrentlyStatus.RECONSUME_LATER;
            }
            if (message.getReconsumeTimes() > 0) {
                retried.add(message.getKeys() + "@" + message.getTopic());
            }
            seen.add(message.getKeys());
        }
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
    }

    static void sendAll(DefaultMQProducer producer) throws Exception {
        SendResult sent = producer.send(new Message("Java", "TagA", "plain", "plain".getBytes()));
        say("plain", sent.getSendStatus());
        say("offsetMsgId", sent.getOffsetMsgId());
        say("fails", producer.send(new Message("Java", "TagA", "fails", "fails".getBytes())).getSendStatus());
        byte[] large = new byte[6000];
        Arrays.fill(large, (byte) 'z');
        say("large", producer.send(new Message("Java", "TagB", "large", large)).getSendStatus());
        List<Message> batch = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            batch.add(new Message("Java", "TagA", "batch" + i, ("batch" + i).getBytes()));
        }
        say("batch", producer.send(batch).getOffsetMsgId().split(",").length);
        producer.sendOneway(new Message("Java", "TagB", "oneway", "oneway".getBytes()));
        Message delayed = new Message("Java", "TagA", "delayed", "delayed".getBytes());
        delayed.setDelayTimeLevel(1);
        say("delayed", producer.send(delayed).getSendStatus());
        say("unwanted", producer.send(new Message("Java", "TagC", "unwanted", "unwanted".getBytes())).getSendStatus());
        CountDownLatch answered = new CountDownLatch(1);
        producer.send(new Message("Java", "TagA", "async", "async".getBytes()), new SendCallback() {
            public void onSuccess(SendResult result) {
                say("async", result.getSendStatus());
                answered.countDown();
            }

            public void onException(Throwable error) {
                say("async", error);
                answered.countDown();
            }
        });
        answered.await(10, TimeUnit.SECONDS);
        for (int i = 0; i < 12; i++) {
            Message message = new Message("JavaOrdered", "T", "o" + i, (i % 2 + ":" + i / 2).getBytes());
            producer.send(message, (queues, ignored, key) -> queues.get((Integer) key), i % 2);
        }
    }

    static void lookUp(DefaultMQProducer producer) throws Exception {
        Thread.sleep(1_000);
        List<MessageQueue> queues = producer.fetchPublishMessageQueues("Java");
        say("queues", queues.size());
        long stored = 0;
        for (MessageQueue queue : queues) {
            stored += producer.maxOffset(queue) - producer.minOffset(queue);
        }
        say("stored", stored);
        say("byKey", producer.queryMessage("Java", "plain", 10, 0, Long.MAX_VALUE).getMessageList().size());
        say("auto", producer.send(new Message("JavaAuto", "T", "auto", "auto".getBytes())).getSendStatus());
    }
}
