package mqchaos;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.List;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** One lite pull consumer: the harness polls. */
final class Pullers {
    private final Lines lines;
    private final DefaultLitePullConsumer consumer;

    Pullers(Lines lines, JsonObject open) throws Exception {
        this.lines = lines;
        consumer = new DefaultLitePullConsumer(Messages.text(open, "group"));
        consumer.setNamesrvAddr(Messages.text(open, "nameservers"));
        consumer.setInstanceName(Messages.text(open, "instance"));
        consumer.setAutoCommit(Messages.flag(open, "auto_commit"));
        consumer.setConsumeFromWhere(Messages.text(open, "from_where").equals("last")
            ? ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET : ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        if (Messages.has(open, "sql")) {
            consumer.subscribe(Messages.text(open, "topic"), MessageSelector.bySql(Messages.text(open, "sql")));
        } else if (Messages.has(open, "expression")) {
            consumer.subscribe(Messages.text(open, "topic"), Messages.text(open, "expression"));
        }
        consumer.start();
    }

    void close() {
        consumer.shutdown();
    }

    void assign(JsonObject command) {
        String topic = Messages.text(command, "topic");
        List<MessageQueue> queues = new ArrayList<>();
        for (com.google.gson.JsonElement each : command.getAsJsonArray("queues")) {
            JsonArray pair = each.getAsJsonArray();
            queues.add(new MessageQueue(topic, pair.get(0).getAsString(), pair.get(1).getAsInt()));
        }
        consumer.assign(queues);
        say(done(command));
    }

    void poll(JsonObject command) {
        JsonArray found = new JsonArray();
        for (MessageExt message : consumer.poll(Messages.number(command, "timeout_ms", 1000))) {
            JsonObject each = new JsonObject();
            Messages.write(each, message);
            found.add(each);
        }
        JsonObject line = done(command);
        line.add("messages", found);
        say(line);
    }

    void seek(JsonObject command) throws Exception {
        MessageQueue queue = queue(command);
        switch (Messages.text(command, "to")) {
            case "begin": consumer.seekToBegin(queue); break;
            case "end": consumer.seekToEnd(queue); break;
            default: consumer.seek(queue, command.get("offset").getAsLong());
        }
        say(done(command));
    }

    void pause(JsonObject command) {
        List<MessageQueue> queues = List.of(queue(command));
        if (Messages.flag(command, "on")) {
            consumer.pause(queues);
        } else {
            consumer.resume(queues);
        }
        say(done(command));
    }

    void commit(JsonObject command) {
        consumer.commitSync();
        say(done(command));
    }

    void offset(JsonObject command) throws Exception {
        JsonObject line = done(command);
        MessageQueue queue = queue(command);
        line.addProperty("offset", Messages.text(command, "what").equals("committed")
            ? consumer.committed(queue) : consumer.offsetForTimestamp(queue, command.get("at_ms").getAsLong()));
        say(line);
    }

    private static MessageQueue queue(JsonObject command) {
        return new MessageQueue(
            Messages.text(command, "topic"), Messages.text(command, "broker"), command.get("queue").getAsInt());
    }

    private static JsonObject done(JsonObject command) {
        JsonObject line = Lines.line("done");
        line.addProperty("id", command.get("id").getAsLong());
        line.addProperty("status", "OK");
        return line;
    }

    private void say(JsonObject line) {
        lines.say(line);
    }
}
