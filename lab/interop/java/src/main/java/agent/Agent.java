package agent;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Does with the lock libraries what it is told. A line of the input is a call: an id, the
 * name of the thread that makes the call, a library and its kind of lock, a verb, a key, and
 * numbers or words. A thread makes its calls one after the other. A line of the output is the
 * id of a call and its result, or its exception behind a "!".
 *
 * <p>The arguments of the program are the addresses of Redis and of ZooKeeper, and the
 * milliseconds of a lease that a library renews, and of a session. The program ends when its
 * input ends.
 */
public final class Agent {
    private static final PrintStream out =
            new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);

    private final Map<String, Thread> threads = new ConcurrentHashMap<>();
    private final Map<String, ExecutorService> executors = new ConcurrentHashMap<>();
    private final Calls calls;

    private Agent(String redis, String zooKeeper, int lease) {
        calls = new Calls(new Libraries(redis, zooKeeper, lease));
    }

    public static void main(String[] args) throws Exception {
        System.setOut(System.err); // what a library prints is not an answer
        Agent agent = new Agent(args[0], args[1], Integer.parseInt(args[2]));
        out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            agent.take(line.split(" "));
        }
        Runtime.getRuntime().halt(0); // the servers go away with the test
    }

    private void take(String[] word) {
        String id = word[0];
        String thread = word[1];
        String[] call = Arrays.copyOfRange(word, 2, word.length);
        if (call[0].equals("state")) {
            answer(id, threads.get(thread).getState().toString());
            return;
        }
        executors.computeIfAbsent(thread, name -> Executors.newSingleThreadExecutor(task -> {
            Thread t = new Thread(task, name);
            threads.put(name, t);
            return t;
        })).execute(() -> {
            try {
                answer(id, calls.call(call));
            } catch (Throwable e) {
                answer(id, "!" + e);
            }
        });
    }

    private static void answer(String id, String answer) {
        synchronized (out) {
            out.println(id + " " + answer.replaceAll("\\s+", " "));
        }
    }
}
