package agent;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Does with the lock libraries what it is told. A line of the input is a call: an id, the
 * name of the thread that makes the call, a library, a verb and arguments. The thread makes
 * its calls one after the other. A line of the output is the id of a call and its result, or
 * its exception behind a "!". The arguments of the program are the addresses of Redis and of
 * ZooKeeper. The program ends when its input ends.
 */
public final class Agent {
    /** A lock library. */
    interface Library {
        String call(String verb, String[] args) throws Exception;
    }

    private static final PrintStream out =
            new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);

    public static void main(String[] args) throws Exception {
        System.setOut(System.err); // what a library prints is no answer
        Map<String, Library> libraries = new HashMap<>();
        Map<String, ExecutorService> threads = new HashMap<>();
        out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            String[] word = line.split(" ");
            threads.computeIfAbsent(word[1], name -> Executors.newSingleThreadExecutor(r -> new Thread(r, name)))
                    .execute(() -> {
                        String answer;
                        try {
                            Library library;
                            synchronized (libraries) {
                                library = libraries.computeIfAbsent(word[2], name -> open(name, args));
                            }
                            answer = library.call(word[3], Arrays.copyOfRange(word, 4, word.length));
                        } catch (Throwable e) {
                            answer = "!" + e;
                        }
                        answer(word[0], answer);
                    });
        }
        Runtime.getRuntime().halt(0); // the servers of a test are of no interest at its end
    }

    private static void answer(String id, String answer) {
        synchronized (out) {
            out.println(id + " " + answer.replaceAll("\\s+", " "));
        }
    }

    /** Connects a library to its server. */
    private static Library open(String name, String[] args) {
        switch (name) {
            case "echo":
                return (verb, words) -> verb + " " + String.join(" ", words);
            case "redisson":
                return new RedissonLocks("redis://" + args[0]);
            default:
                throw new IllegalArgumentException("no library " + name);
        }
    }
}
