package peers;

import java.util.concurrent.atomic.AtomicBoolean;
import peers.Messages.Order;
import peers.Messages.Report;
import peers.Messages.Task;

/** The part of one thread in an order: the caller of worker.go. */
final class Caller implements Runnable {
    private static final int MAX_ERRORS = 100;

    private final Task task;
    private final Peer peer;
    private final Register register; // null with own keys
    private final String key;
    private final Order order;
    private final AtomicBoolean drained; // a thread has done all its loops

    private final Report part = new Report();
    private boolean stopped;

    Caller(Task task, Peer peer, Register register, int thread, Order order, AtomicBoolean drained) {
        this.task = task;
        this.peer = peer;
        this.register = register;
        this.key = task.ownKeys() ? ownKey(task, thread) : task.key();
        this.order = order;
        this.drained = drained;
    }

    static String ownKey(Task task, int thread) {
        return task.key() + ":" + task.proc() + ":" + thread;
    }

    @Override
    public void run() {
        long began = System.nanoTime();
        for (int n = 0; n < order.loops() || order.loops() == 0; ) {
            long asked = System.nanoTime();
            if (order.loops() == 0 && n > 0 && asked - began > order.duration()) {
                return;
            }
            long left = order.limit() - (asked - began);
            try {
                if (left <= 0) {
                    throw new InterruptedException("the time is up");
                }
                once(asked, left, n > 0);
                n++;
            } catch (Exception e) {
                if (System.nanoTime() - began >= order.limit()) {
                    stopped = true;
                    part.waits.add(System.nanoTime() - asked); // a lower bound
                    return;
                }
                fail(e);
                if (part.errors >= MAX_ERRORS) {
                    stopped = true;
                    return;
                }
            }
        }
        drained.set(true);
    }

    private void once(long asked, long left, boolean again) throws Exception {
        Peer.Held held = peer.lock(key, left);
        long got = System.nanoTime();
        if (register != null) {
            long after = register.enter(Worker.now());
            if (after >= 0) {
                part.handOvers.add(after);
            }
        }
        if (task.hold() > 0) {
            Thread.sleep(task.hold() / 1_000_000);
        }
        if (register != null) {
            register.leave(Worker.now());
        }
        try {
            held.unlock();
        } catch (Exception e) {
            fail(e); // but the lock was held
        }
        part.locks++;
        if (task.ownKeys()) {
            got = System.nanoTime(); // without waiters, lock and unlock count together
        }
        part.waits.add(got - asked);
        if (again && !drained.get()) {
            part.full.add(got - asked);
        }
    }

    private void fail(Exception e) {
        if (part.errors == 0) {
            part.firstError = e.toString();
        }
        part.errors++;
    }

    void addTo(Report sum) {
        sum.locks += part.locks;
        sum.finished = sum.finished && !stopped;
        sum.errors += part.errors;
        if (sum.firstError.isEmpty()) {
            sum.firstError = part.firstError;
        }
        sum.waits.add(part.waits);
        sum.handOvers.add(part.handOvers);
        sum.full.add(part.full);
    }
}
