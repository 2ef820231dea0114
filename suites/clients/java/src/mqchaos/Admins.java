package mqchaos;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import org.apache.rocketmq.client.QueryResult;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/** The official tools' library: offsets, messages by id and by key. */
final class Admins {
    private final Lines lines;
    private final DefaultMQAdminExt admin = new DefaultMQAdminExt(5000);

    Admins(Lines lines, JsonObject open) throws Exception {
        this.lines = lines;
        admin.setNamesrvAddr(Messages.text(open, "nameservers"));
        admin.setInstanceName(Messages.text(open, "instance"));
        admin.start();
    }

    void close() {
        admin.shutdown();
    }

    void offset(JsonObject command) throws Exception {
        MessageQueue queue = new MessageQueue(
            Messages.text(command, "topic"), Messages.text(command, "broker"), command.get("queue").getAsInt());
        JsonObject line = done(command);
        switch (Messages.text(command, "what")) {
            case "min": line.addProperty("offset", admin.minOffset(queue)); break;
            case "max": line.addProperty("offset", admin.maxOffset(queue)); break;
            case "earliest": line.addProperty("offset", admin.earliestMsgStoreTime(queue)); break;
            default: line.addProperty("offset", admin.searchOffset(queue, command.get("at_ms").getAsLong()));
        }
        lines.say(line);
    }

    void view(JsonObject command) throws Exception {
        JsonObject line = done(command);
        MessageExt message = admin.viewMessage(Messages.text(command, "topic"), Messages.text(command, "message_id"));
        JsonObject each = new JsonObject();
        Messages.write(each, message);
        JsonArray found = new JsonArray();
        found.add(each);
        line.add("messages", found);
        lines.say(line);
    }

    void query(JsonObject command) throws Exception {
        QueryResult result = admin.queryMessage(
            Messages.text(command, "topic"), Messages.text(command, "key"), 32, 0, Long.MAX_VALUE);
        JsonArray found = new JsonArray();
        for (MessageExt message : result.getMessageList()) {
            JsonObject each = new JsonObject();
            Messages.write(each, message);
            found.add(each);
        }
        JsonObject line = done(command);
        line.add("messages", found);
        lines.say(line);
    }

    private static JsonObject done(JsonObject command) {
        JsonObject line = Lines.line("done");
        line.addProperty("id", command.get("id").getAsLong());
        line.addProperty("status", "OK");
        return line;
    }
}
