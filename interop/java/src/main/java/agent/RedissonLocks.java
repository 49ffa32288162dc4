package agent;

import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Redisson's locks. The first argument of each verb is a kind of lock, the second a name. */
final class RedissonLocks implements Agent.Library {
    private final RedissonClient client;

    RedissonLocks(String address) {
        Config config = new Config();
        config.setLockWatchdogTimeout(3000).setThreads(4).setNettyThreads(4);
        config.useSingleServer().setAddress(address).setConnectionMinimumIdleSize(1).setSubscriptionConnectionMinimumIdleSize(1);
        client = Redisson.create(config);
    }

    @Override
    public String call(String verb, String[] args) throws Exception {
        RLock lock = lock(args[0], args[1]);
        switch (verb) {
            case "try":
                return "" + lock.tryLock();
            case "wait":
                return "" + lock.tryLock(Long.parseLong(args[2]), TimeUnit.MILLISECONDS);
            case "unlock":
                lock.unlock();
                return "done";
            default:
                throw new IllegalArgumentException(verb);
        }
    }

    private RLock lock(String kind, String name) {
        switch (kind) {
            case "lock":
                return client.getLock(name);
            case "fair":
                return client.getFairLock(name);
            case "spin":
                return client.getSpinLock(name);
            case "fenced":
                return client.getFencedLock(name);
            case "read":
                return client.getReadWriteLock(name).readLock();
            case "write":
                return client.getReadWriteLock(name).writeLock();
            default:
                throw new IllegalArgumentException(kind);
        }
    }
}
