package agent;

import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Redisson. The names in a MultiLock's key have commas between. */
final class RedissonLibrary implements Library {
    final RedissonClient client;

    RedissonLibrary(String address, int lease) {
        Config config = new Config();
        config.setLockWatchdogTimeout(lease).setThreads(4).setNettyThreads(4);
        config.useSingleServer()
                .setAddress(address)
                .setConnectionMinimumIdleSize(1)
                .setSubscriptionConnectionMinimumIdleSize(1);
        client = Redisson.create(config);
    }

    @Override
    public Lock lock(String kind, String key) {
        switch (kind) {
            case "semaphore":
                return semaphore(client.getSemaphore(key));
            case "permits":
                return permits(client.getPermitExpirableSemaphore(key));
            default:
                return lock(rlock(kind, key));
        }
    }

    private static Lock lock(RLock lock) {
        return new Lock() {
            @Override
            public boolean tryLock(long wait, long lease) throws Exception {
                if (wait == 0 && lease == 0) {
                    return lock.tryLock();
                }
                return lock.tryLock(wait, lease == 0 ? -1 : lease, TimeUnit.MILLISECONDS);
            }

            @Override
            public void unlock() {
                lock.unlock();
            }
        };
    }

    private static Lock semaphore(RSemaphore semaphore) {
        return new Lock() {
            @Override
            public boolean tryLock(long wait, long lease) throws Exception {
                semaphore.trySetPermits(1);
                return semaphore.tryAcquire(java.time.Duration.ofMillis(wait));
            }

            @Override
            public void unlock() {
                semaphore.release();
            }
        };
    }

    private static Lock permits(RPermitExpirableSemaphore semaphore) {
        return new Lock() {
            private String permit;

            @Override
            public boolean tryLock(long wait, long lease) throws Exception {
                semaphore.trySetPermits(1);
                permit = semaphore.tryAcquire(wait, lease == 0 ? 60_000 : lease, TimeUnit.MILLISECONDS);
                return permit != null;
            }

            @Override
            public void unlock() {
                semaphore.release(permit);
            }
        };
    }

    private RLock rlock(String kind, String key) {
        switch (kind) {
            case "lock":
                return client.getLock(key);
            case "fair":
                return client.getFairLock(key);
            case "spin":
                return client.getSpinLock(key);
            case "fenced":
                return client.getFencedLock(key);
            case "read":
                return client.getReadWriteLock(key).readLock();
            case "write":
                return client.getReadWriteLock(key).writeLock();
            case "multi":
                return client.getMultiLock(
                        Arrays.stream(key.split(",")).map(client::getLock).toArray(RLock[]::new));
            default:
                throw new IllegalArgumentException(kind);
        }
    }

    @Override
    public String call(String verb, String kind, String key, String[] more) {
        RLock lock = rlock(kind, key);
        switch (verb) {
            case "token": // acquires the lock
                return "" + ((RFencedLock) lock).lockAndGetToken();
            case "holds":
                return "" + lock.getHoldCount();
            case "mine":
                return "" + lock.isHeldByCurrentThread();
            case "locked":
                return "" + lock.isLocked();
            case "ttl":
                return "" + lock.remainTimeToLive();
            case "force":
                return "" + lock.forceUnlock();
            default:
                throw new IllegalArgumentException(verb);
        }
    }
}
