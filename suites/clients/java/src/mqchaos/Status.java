package mqchaos;

import com.google.gson.JsonObject;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.exception.RequestTimeoutException;
import org.apache.rocketmq.remoting.exception.RemotingConnectException;
import org.apache.rocketmq.remoting.exception.RemotingException;
import org.apache.rocketmq.remoting.exception.RemotingSendRequestException;
import org.apache.rocketmq.remoting.exception.RemotingTimeoutException;

/** The protocol's word for an exception of the client. */
final class Status {
    private Status() {}

    /** The innermost cause that says something: a producer that gave up wraps what its last try met. */
    static void write(JsonObject line, Throwable error) {
        line.addProperty("status", word(error));
        line.addProperty("error", error.getClass().getSimpleName() + ": " + error.getMessage());
        if (error instanceof MQClientException) {
            line.addProperty("code", ((MQClientException) error).getResponseCode());
        }
    }

    private static String word(Throwable error) {
        for (Throwable each = error; each != null; each = each.getCause()) {
            if (each instanceof MQBrokerException) {
                return "CODE_" + ((MQBrokerException) each).getResponseCode();
            }
            if (each instanceof RemotingConnectException) {
                return "CONNECT_FAILED";
            }
            if (each instanceof RemotingTimeoutException || each instanceof RequestTimeoutException) {
                return "TIMEOUT";
            }
            if (each instanceof RemotingSendRequestException || each instanceof RemotingException) {
                return "CONNECTION_CLOSED";
            }
        }
        return error instanceof MQClientException ? clientWord((MQClientException) error) : "CLIENT_ERROR";
    }

    /** Its own codes (ClientErrorCode) say where it gave up; without one it refused before anything was sent. */
    private static String clientWord(MQClientException error) {
        switch (error.getResponseCode()) {
            case 10001: return "CONNECT_FAILED";
            case 10002: return "TIMEOUT";
            case 10003: return "NO_ROUTE"; // BROKER_NOT_EXIST_EXCEPTION
            case 10004: return "NO_ROUTE"; // NO_NAME_SERVER_EXCEPTION
            case 10005: return "NO_ROUTE"; // NOT_FOUND_TOPIC_EXCEPTION
            case 10006: return "TIMEOUT"; // REQUEST_TIMEOUT_EXCEPTION
            case 13: return "MESSAGE_ILLEGAL";
            default: return error.getResponseCode() > 0 ? "CODE_" + error.getResponseCode() : "CLIENT_ERROR";
        }
    }
}
