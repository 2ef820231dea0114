package mqchaos;

import com.google.gson.Gson;
import com.google.gson.JsonObject;
import java.io.PrintStream;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/** What leaves: one JSON object a line, each with the stamp of our own monotonic clock; and questions that wait. */
final class Lines {
    private final PrintStream out;
    private final Gson gson = new Gson();
    private final AtomicLong questions = new AtomicLong();
    private final Map<Long, BlockingQueue<JsonObject>> waiting = new ConcurrentHashMap<>();

    Lines(PrintStream out) {
        this.out = out;
    }

    /** A line of this kind; add fields, then {@link #say}. */
    static JsonObject line(String is) {
        JsonObject line = new JsonObject();
        line.addProperty("is", is);
        line.addProperty("at", System.nanoTime());
        return line;
    }

    /** The stamp was taken when the line was made: before the lock is waited for. */
    synchronized void say(JsonObject line) {
        out.println(gson.toJson(line));
        out.flush();
    }

    /** Say it under a number of ours and wait for the answer with that number. */
    JsonObject ask(JsonObject line) throws InterruptedException {
        long id = questions.incrementAndGet();
        BlockingQueue<JsonObject> answer = new ArrayBlockingQueue<>(1);
        waiting.put(id, answer);
        line.addProperty("question", id);
        say(line);
        return answer.take();
    }

    void answered(JsonObject command) {
        BlockingQueue<JsonObject> answer = waiting.remove(command.get("question").getAsLong());
        if (answer != null) {
            answer.add(command);
        }
    }
}
