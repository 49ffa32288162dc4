package peers;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.redisson.api.RLock;

/** The part of one thread in an order: the caller of worker.go. An error ends it. */
final class Caller extends Thread {
    private final RLock lock;
    private final int loops;
    private final long length;
    private final long limit;

    long locks;
    String error;

    Caller(RLock lock, int loops, long length, long limit) {
        this.lock = lock;
        this.loops = loops;
        this.length = length;
        this.limit = limit;
    }

    @Override
    public void run() {
        long began = System.nanoTime();
        try {
            for (int n = 0; n < loops || loops == 0; n++) {
                long spent = System.nanoTime() - began;
                if (loops == 0 && n > 0 && spent > length) {
                    return;
                }
                if (!lock.tryLock(limit - spent, TimeUnit.NANOSECONDS)) {
                    throw new TimeoutException("RLock.tryLock");
                }
                lock.unlock();
                locks++;
            }
        } catch (Exception e) {
            error = e.toString();
        }
    }
}
