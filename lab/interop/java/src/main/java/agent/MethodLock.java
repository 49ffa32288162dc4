package agent;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * The lock of a method that runs under a lock. The holder is a thread of its own, inside
 * of the method.
 */
final class MethodLock implements Lock {
    /** A method that runs under a lock. It calls {@link #inside}. */
    interface Method {
        void run() throws Exception;
    }

    private static final ThreadLocal<Runnable> INSIDE = new ThreadLocal<>();

    private final Method waits;
    private final Method once;
    private CountDownLatch leave;
    private CompletableFuture<Void> end;

    MethodLock(Method waits, Method once) {
        this.waits = waits;
        this.once = once;
    }

    /** What a method under a lock does: it tells that it runs, and waits until it may return. */
    static void inside() {
        INSIDE.get().run();
    }

    @Override
    public boolean tryLock(long wait, long lease) throws Exception {
        CountDownLatch leaving = new CountDownLatch(1);
        CompletableFuture<Void> runs = new CompletableFuture<>();
        CompletableFuture<Void> returned = new CompletableFuture<>();
        Thread thread = new Thread(() -> {
            INSIDE.set(() -> {
                runs.complete(null);
                try {
                    leaving.await();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            });
            try {
                (wait == 0 ? once : waits).run();
                returned.complete(null);
            } catch (Throwable e) {
                returned.completeExceptionally(e);
            }
        });
        thread.start();
        try {
            CompletableFuture.anyOf(runs, returned).get(wait == 0 ? 60_000 : wait, TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            thread.interrupt();
            return false;
        } catch (ExecutionException e) {
            throw (Exception) e.getCause();
        }
        if (!runs.isDone()) {
            return false;
        }
        leave = leaving;
        end = returned;
        return true;
    }

    @Override
    public void unlock() throws Exception {
        leave.countDown();
        end.get();
    }
}
