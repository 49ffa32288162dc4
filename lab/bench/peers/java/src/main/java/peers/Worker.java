package peers;

import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Scanner;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * A process of a crew: it reads orders from the standard input, and writes turns to the standard output, as child.go
 * does. It ends when its parent closes the input. Redisson has its defaults: 32 netty threads, 64 connections, the
 * watchdog.
 */
public final class Worker {
    private Worker() {}

    /** Takes the URL, the key, whether each thread has its own key, and the number of threads. */
    public static void main(String[] args) throws Exception {
        PrintStream reports = System.out;
        System.setOut(System.err); // no library writes between the reports
        Config config = new Config();
        config.useSingleServer().setAddress(args[0]);
        RedissonClient client = Redisson.create(config);
        boolean ownKeys = Boolean.parseBoolean(args[2]);
        int threads = Integer.parseInt(args[3]);
        execute(client, args[1], true, threads, 0, 3, 0, TimeUnit.SECONDS.toNanos(50));
        reports.println("{}");
        Scanner orders = new Scanner(System.in).useDelimiter("[^0-9]+"); // JSON, in the order of its fields
        while (orders.hasNextLong()) {
            long start = orders.nextLong();
            int loops = orders.nextInt();
            long length = orders.nextLong();
            orders.nextLong(); // Rate, for goroutines
            reports.println(execute(client, args[1], ownKeys, threads, start, loops, length, orders.nextLong()));
            reports.flush();
        }
        System.exit(0); // the threads of a library do not keep the process
    }

    private static String execute(
            RedissonClient client, String key, boolean ownKeys, int threads, long start, int loops, long length, long limit)
            throws InterruptedException {
        long cpu = cpuTime();
        TimeUnit.NANOSECONDS.sleep(start - now()); // it does not sleep if that is negative
        List<Caller> callers = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            Caller c = new Caller(client.getLock(ownKeys ? key + ":0:" + i : key), loops, length, limit);
            callers.add(c);
            c.start();
        }
        long locks = 0;
        boolean finished = true;
        String error = "";
        for (Caller c : callers) {
            c.join();
            locks += c.locks;
            finished &= c.error == null;
            error = c.error == null ? error : '"' + c.error.replaceAll("[^ -~]|[\"\\\\]", "?") + '"';
        }
        return String.format(
                "{\"Problems\": [%s], \"Locks\": %d, \"Elapsed\": %d, \"Finished\": %b, \"Client\": %d}",
                error, locks, now() - start, finished, cpuTime() - cpu);
    }

    /** Returns the time in nanoseconds since 1970, as the other processes see it. */
    private static long now() {
        Instant t = Instant.now();
        return t.getEpochSecond() * 1_000_000_000 + t.getNano();
    }

    private static long cpuTime() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
                .getProcessCpuTime();
    }
}
