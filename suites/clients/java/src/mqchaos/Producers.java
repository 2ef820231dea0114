package mqchaos;

import com.google.gson.JsonObject;
import java.util.Base64;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.client.hook.SendMessageContext;
import org.apache.rocketmq.client.hook.SendMessageHook;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.client.producer.selector.SelectMessageQueueByHash;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** One producer: sends in every way the client knows, and says of each attempt where it goes before it leaves. */
final class Producers {
    private final Lines lines;
    private final DefaultMQProducer producer;
    private final Map<Message, Long> underWay = Collections.synchronizedMap(new IdentityHashMap<>());

    Producers(Lines lines, JsonObject open) throws Exception {
        this.lines = lines;
        String group = Messages.text(open, "group");
        if (Messages.text(open, "role").equals("transaction")) {
            TransactionMQProducer transactional = new TransactionMQProducer(group);
            transactional.setTransactionListener(new Listener());
            producer = transactional;
        } else {
            producer = new DefaultMQProducer(group);
        }
        producer.setNamesrvAddr(Messages.text(open, "nameservers"));
        producer.setInstanceName(Messages.text(open, "instance"));
        producer.setSendMsgTimeout(Messages.number(open, "timeout_ms", 3000));
        producer.setRetryTimesWhenSendFailed(Messages.number(open, "retries", 2));
        producer.setRetryAnotherBrokerWhenNotStoreOK(Messages.flag(open, "retry_not_stored"));
        producer.setSendLatencyFaultEnable(Messages.flag(open, "avoid_slow"));
        producer.setPollNameServerInterval(Messages.number(open, "poll_nameserver_ms", 30000));
        producer.setCompressMsgBodyOverHowmuch(Messages.number(open, "compress_above", 4096));
        if (Messages.flag(open, "tell_attempts")) {
            producer.getDefaultMQProducerImpl().registerSendMessageHook(new Attempts());
        }
        producer.start();
    }

    void close() {
        producer.shutdown();
    }

    /** Answers by itself: an asynchronous send after it has returned. */
    void send(JsonObject command) throws Exception {
        Message message = Messages.read(command.getAsJsonObject("message"));
        underWay.put(message, command.get("id").getAsLong());
        String mode = Messages.text(command, "mode");
        if (mode.equals("async")) {
            producer.send(message, new Callback(command));
        } else {
            try {
                done(command, mode.equals("one_way") ? oneWay(command, message) : send(command, message));
            } finally {
                underWay.remove(message);
            }
        }
    }

    private SendResult send(JsonObject command, Message message) throws Exception {
        if (Messages.has(command, "transaction")) {
            return ((TransactionMQProducer) producer)
                .sendMessageInTransaction(message, Messages.text(command, "transaction"));
        }
        if (Messages.has(command, "shard")) {
            return producer.send(message, new SelectMessageQueueByHash(), Messages.text(command, "shard"));
        }
        return Messages.has(command, "queue") ? producer.send(message, queue(command, message)) : producer.send(message);
    }

    private SendResult oneWay(JsonObject command, Message message) throws Exception {
        if (Messages.has(command, "queue")) {
            producer.sendOneway(message, queue(command, message));
        } else {
            producer.sendOneway(message);
        }
        return null;
    }

    private static MessageQueue queue(JsonObject command, Message message) {
        return new MessageQueue(message.getTopic(), Messages.text(command, "broker"), command.get("queue").getAsInt());
    }

    void sendBatch(JsonObject command) throws Exception {
        done(command, producer.send(Messages.readAll(command.getAsJsonArray("messages"))));
    }

    void request(JsonObject command) throws Exception {
        Message message = Messages.read(command.getAsJsonObject("message"));
        Message reply = producer.request(message, Messages.number(command, "timeout_ms", 3000));
        JsonObject line = Lines.line("done");
        line.addProperty("id", command.get("id").getAsLong());
        line.addProperty("status", "OK");
        line.addProperty("body", Base64.getEncoder().encodeToString(reply.getBody()));
        lines.say(line);
    }

    void route(JsonObject command) throws Exception {
        List<MessageQueue> queues = producer.fetchPublishMessageQueues(Messages.text(command, "topic"));
        JsonObject line = Lines.line("done");
        line.addProperty("id", command.get("id").getAsLong());
        line.addProperty("status", "OK");
        line.add("queues", Messages.queues(queues));
        lines.say(line);
    }

    private void done(JsonObject command, SendResult result) {
        JsonObject line = Lines.line("done");
        line.addProperty("id", command.get("id").getAsLong());
        if (result == null) {
            line.addProperty("status", "ONE_WAY");
        } else {
            Messages.write(line, result);
        }
        lines.say(line);
    }

    private final class Callback implements SendCallback {
        private final JsonObject command;

        Callback(JsonObject command) {
            this.command = command;
        }

        @Override
        public void onSuccess(SendResult result) {
            done(command, result);
        }

        @Override
        public void onException(Throwable error) {
            JsonObject line = Lines.line("done");
            line.addProperty("id", command.get("id").getAsLong());
            Status.write(line, error);
            lines.say(line);
        }
    }

    /** Before an attempt leaves the harness is told where it goes, and has said that it knows. */
    private final class Attempts implements SendMessageHook {
        @Override
        public String hookName() {
            return "attempts";
        }

        @Override
        public void sendMessageBefore(SendMessageContext context) {
            Long id = underWay.get(context.getMessage());
            if (id == null) {
                return;
            }
            JsonObject line = Lines.line("trying");
            line.addProperty("id", id);
            Messages.write(line, context.getMq());
            line.addProperty("address", context.getBrokerAddr());
            try {
                lines.ask(line);
            } catch (InterruptedException error) {
                Thread.currentThread().interrupt();
            }
        }

        @Override
        public void sendMessageAfter(SendMessageContext context) {
            Long id = underWay.get(context.getMessage());
            if (id == null) {
                return;
            }
            JsonObject line = Lines.line("tried");
            line.addProperty("id", id);
            if (context.getException() != null) {
                Status.write(line, context.getException());
            } else if (context.getSendResult() != null) {
                Messages.write(line, context.getSendResult());
            }
            lines.say(line);
        }
    }

    /** The application's part of a transaction is decided by the harness: with the command, and at each check. */
    private final class Listener implements TransactionListener {
        @Override
        public LocalTransactionState executeLocalTransaction(Message message, Object argument) {
            return state((String) argument);
        }

        @Override
        public LocalTransactionState checkLocalTransaction(MessageExt message) {
            JsonObject line = Lines.line("checking");
            Messages.write(line, message);
            line.addProperty("transaction_id", message.getTransactionId());
            try {
                return state(Messages.text(lines.ask(line), "result"));
            } catch (InterruptedException error) {
                Thread.currentThread().interrupt();
                return LocalTransactionState.UNKNOW;
            }
        }

        private LocalTransactionState state(String word) {
            switch (word) {
                case "commit": return LocalTransactionState.COMMIT_MESSAGE;
                case "rollback": return LocalTransactionState.ROLLBACK_MESSAGE;
                default: return LocalTransactionState.UNKNOW;
            }
        }
    }
}
