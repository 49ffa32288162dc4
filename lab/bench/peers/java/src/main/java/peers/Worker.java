package peers;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.MappingIterator;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.PrintStream;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import peers.Messages.Order;
import peers.Messages.Report;
import peers.Messages.Task;

/**
 * A process of a crew: it reads its task and then orders from the standard input, and writes reports to the standard
 * output, as child.go does. It ends when its parent closes the input.
 */
public final class Worker {
    private static final long WARM_UP_LIMIT = TimeUnit.SECONDS.toNanos(50);

    private Worker() {}

    public static void main(String[] args) throws Exception {
        ObjectMapper json = new ObjectMapper();
        PrintStream reports = System.out;
        System.setOut(System.err); // no library writes between the reports
        MappingIterator<JsonNode> orders = json.readerFor(JsonNode.class).readValues(System.in);
        Task task = json.treeToValue(orders.next(), Task.class);
        try (Peer peer = newPeer(task)) {
            Register register = task.register().isEmpty() ? null : new Register(task.register(), task.proc());
            warmUp(task, peer);
            write(json, reports, new Report());
            while (orders.hasNext()) {
                Order order = json.treeToValue(orders.next(), Order.class);
                write(json, reports, execute(task, peer, register, order));
            }
        } catch (Exception e) {
            Report failed = new Report();
            failed.error = e.toString();
            write(json, reports, failed);
        }
        System.exit(0); // the threads of a library do not keep the process
    }

    private static void write(ObjectMapper json, PrintStream out, Report r) throws IOException {
        out.println(json.writeValueAsString(r));
        out.flush();
    }

    private static Peer newPeer(Task task) {
        return switch (task.peer()) {
            case "redisson" -> new RedissonPeer(task.url());
            case "curator" -> new CuratorPeer(task.url());
            default -> throw new IllegalArgumentException("there is no peer " + task.peer());
        };
    }

    /** Lets every thread take a key of its own a few times, so that connections are open and classes are loaded. */
    private static void warmUp(Task task, Peer peer) throws Exception {
        Order order = new Order(0, 3, 0, WARM_UP_LIMIT);
        Task own = new Task(task.peer(), task.url(), task.key(), true, task.proc(), task.threads(), 0, "");
        Report r = execute(own, peer, null, order);
        if (!r.firstError.isEmpty()) {
            throw new IllegalStateException("warming up: " + r.firstError);
        }
    }

    private static Report execute(Task task, Peer peer, Register register, Order order) throws InterruptedException {
        long wait = order.start() - now();
        if (order.start() > 0 && wait > 0) {
            TimeUnit.NANOSECONDS.sleep(wait);
        }
        AtomicBoolean drained = new AtomicBoolean();
        List<Caller> callers = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < task.threads(); i++) {
            callers.add(new Caller(task, peer, register, i, order, drained));
            threads.add(new Thread(callers.get(i)));
        }
        threads.forEach(Thread::start);
        for (Thread t : threads) {
            t.join();
        }
        Report sum = new Report();
        sum.start = order.start();
        sum.end = now();
        sum.finished = true;
        callers.forEach(c -> c.addTo(sum));
        return sum;
    }

    /** Returns the time in nanoseconds since 1970, as the other processes see it. */
    static long now() {
        Instant t = Instant.now();
        return t.getEpochSecond() * 1_000_000_000 + t.getNano();
    }
}
