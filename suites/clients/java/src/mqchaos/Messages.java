package mqchaos;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** Between the protocol's messages and the client's. */
final class Messages {
    private Messages() {}

    static Message read(JsonObject m) {
        Message message = new Message(text(m, "topic"), text(m, "tags"), text(m, "keys"), bytes(m, "body"));
        if (has(m, "delay_level")) {
            message.setDelayTimeLevel(m.get("delay_level").getAsInt());
        }
        if (has(m, "wait_stored")) {
            message.setWaitStoreMsgOK(m.get("wait_stored").getAsBoolean());
        }
        if (has(m, "properties")) {
            for (Map.Entry<String, JsonElement> entry : m.getAsJsonObject("properties").entrySet()) {
                message.getProperties(); // 5.x makes the map on first use
                put(message, entry.getKey(), entry.getValue().getAsString());
            }
        }
        return message;
    }

    /** Reserved names (TIMER_DELAY_SEC …) too: putUserProperty would refuse them. */
    private static void put(Message message, String name, String value) {
        org.apache.rocketmq.common.message.MessageAccessor.putProperty(message, name, value);
    }

    static List<Message> readAll(JsonArray array) {
        List<Message> messages = new ArrayList<>();
        array.forEach(each -> messages.add(read(each.getAsJsonObject())));
        return messages;
    }

    static void write(JsonObject line, MessageExt message) {
        line.addProperty("topic", message.getTopic());
        line.addProperty("broker", message.getBrokerName() == null ? "" : message.getBrokerName());
        line.addProperty("queue", message.getQueueId());
        line.addProperty("offset", message.getQueueOffset());
        line.addProperty("body", Base64.getEncoder().encodeToString(message.getBody()));
        line.addProperty("message_id", message.getMsgId());
        line.addProperty("times", message.getReconsumeTimes());
        line.addProperty("born_ms", message.getBornTimestamp());
        line.addProperty("stored_ms", message.getStoreTimestamp());
        JsonObject properties = new JsonObject();
        message.getProperties().forEach(properties::addProperty);
        line.add("properties", properties);
    }

    static void write(JsonObject line, MessageQueue queue) {
        line.addProperty("broker", queue.getBrokerName());
        line.addProperty("queue", queue.getQueueId());
    }

    static void write(JsonObject line, SendResult result) {
        line.addProperty("status", result.getSendStatus().name());
        if (result.getMessageQueue() != null) {
            write(line, result.getMessageQueue());
        }
        line.addProperty("offset", result.getQueueOffset());
        line.addProperty("message_id", result.getOffsetMsgId() == null ? "" : result.getOffsetMsgId());
        line.addProperty("unique_key", result.getMsgId() == null ? "" : result.getMsgId());
        line.addProperty("transaction_id", result.getTransactionId() == null ? "" : result.getTransactionId());
    }

    static JsonArray queues(Iterable<MessageQueue> queues) {
        JsonArray array = new JsonArray();
        for (MessageQueue queue : queues) {
            JsonArray pair = new JsonArray();
            pair.add(queue.getBrokerName());
            pair.add(queue.getQueueId());
            array.add(pair);
        }
        return array;
    }

    static boolean has(JsonObject object, String name) {
        return object.has(name) && !object.get(name).isJsonNull();
    }

    static String text(JsonObject object, String name) {
        return has(object, name) ? object.get(name).getAsString() : "";
    }

    static int number(JsonObject object, String name, int otherwise) {
        return has(object, name) ? object.get(name).getAsInt() : otherwise;
    }

    static boolean flag(JsonObject object, String name) {
        return has(object, name) && object.get(name).getAsBoolean();
    }

    static byte[] bytes(JsonObject object, String name) {
        return Base64.getDecoder().decode(text(object, name));
    }
}
