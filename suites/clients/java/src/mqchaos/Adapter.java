package mqchaos;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.rocketmq.common.MQVersion;

/** The official Java client behind the line protocol (docs/clients.md): commands on standard input, lines out. */
public final class Adapter {
    private static final int PROTOCOL = 1;

    private final Lines lines;
    private final ExecutorService threads = Executors.newCachedThreadPool(Adapter::daemon);
    private final Map<Long, Object> handles = new ConcurrentHashMap<>();

    private Adapter(PrintStream out) {
        lines = new Lines(out);
    }

    private static Thread daemon(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        return thread;
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err); // whatever a library prints is no line of the protocol
        new Adapter(out).run();
        System.exit(0);
    }

    private void run() throws Exception {
        JsonObject hello = Lines.line("hello");
        hello.addProperty("protocol", PROTOCOL);
        String version = MQVersion.getVersionDesc(MQVersion.CURRENT_VERSION);
        hello.addProperty("client", "rocketmq-client-java " + version.replace('_', '.').substring(1));
        hello.addProperty("tells_attempts", true);
        lines.say(hello);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String text = in.readLine(); text != null; text = in.readLine()) {
            JsonObject command = JsonParser.parseString(text).getAsJsonObject();
            String what = Messages.text(command, "do");
            if (what.equals("end")) {
                break;
            }
            dispatch(what, command);
        }
        for (Object handle : handles.values()) {
            close(handle);
        }
    }

    /** What answers at once is answered here, in order; whatever may wait gets a thread. */
    private void dispatch(String what, JsonObject command) {
        switch (what) {
            case "clock": clock(command); break;
            case "go": case "consumed": case "checked": lines.answered(command); break;
            default: threads.execute(() -> carryOut(what, command));
        }
    }

    private void clock(JsonObject command) {
        JsonObject line = Lines.line("clock");
        line.addProperty("id", command.get("id").getAsLong());
        lines.say(line);
    }

    private void carryOut(String what, JsonObject command) {
        try {
            act(what, command);
        } catch (Throwable error) {
            JsonObject line = Lines.line("done");
            line.addProperty("id", command.get("id").getAsLong());
            Status.write(line, error);
            lines.say(line);
        }
    }

    private void act(String what, JsonObject command) throws Exception {
        switch (what) {
            case "open": handles.put(command.get("id").getAsLong(), open(command)); ok(command); break;
            case "close": close(handles.remove(command.get("from").getAsLong())); ok(command); break;
            case "send": producer(command).send(command); break;
            case "send_batch": producer(command).sendBatch(command); break;
            case "request": producer(command).request(command); break;
            case "route": producer(command).route(command); break;
            case "suspend": ((Consumers) handle(command)).suspend(Messages.flag(command, "on")); ok(command); break;
            case "assign": puller(command).assign(command); break;
            case "poll": puller(command).poll(command); break;
            case "seek": puller(command).seek(command); break;
            case "pause": puller(command).pause(command); break;
            case "commit": puller(command).commit(command); break;
            case "offset": offset(command); break;
            case "view": ((Admins) handle(command)).view(command); break;
            case "query": ((Admins) handle(command)).query(command); break;
            default: throw new UnsupportedOperationException("this adapter knows no " + what);
        }
    }

    private Object open(JsonObject command) throws Exception {
        switch (Messages.text(command, "role")) {
            case "producer": case "transaction": return new Producers(lines, command);
            case "consumer": return new Consumers(lines, command);
            case "pull": return new Pullers(lines, command);
            case "admin": return new Admins(lines, command);
            default: throw new UnsupportedOperationException("no role " + Messages.text(command, "role"));
        }
    }

    private void offset(JsonObject command) throws Exception {
        if (handle(command) instanceof Admins) {
            ((Admins) handle(command)).offset(command);
        } else {
            puller(command).offset(command);
        }
    }

    private static void close(Object handle) {
        if (handle instanceof Producers) {
            ((Producers) handle).close();
        } else if (handle instanceof Consumers) {
            ((Consumers) handle).close();
        } else if (handle instanceof Pullers) {
            ((Pullers) handle).close();
        } else if (handle instanceof Admins) {
            ((Admins) handle).close();
        }
    }

    private Object handle(JsonObject command) {
        return handles.get(command.get("from").getAsLong());
    }

    private Producers producer(JsonObject command) {
        return (Producers) handle(command);
    }

    private Pullers puller(JsonObject command) {
        return (Pullers) handle(command);
    }

    private void ok(JsonObject command) {
        JsonObject line = Lines.line("done");
        line.addProperty("id", command.get("id").getAsLong());
        line.addProperty("status", "OK");
        lines.say(line);
    }
}
