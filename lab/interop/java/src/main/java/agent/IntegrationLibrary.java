package agent;

import java.time.Duration;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.integration.redis.util.RedisLockRegistry;
import org.springframework.integration.redis.util.RedisLockRegistry.RedisLockType;
import org.springframework.integration.support.locks.DistributedLock;

/** Spring Integration. Its registry is "reg", so the record of the key tea is reg:tea. */
final class IntegrationLibrary implements Library {
    private static final long LEASE = 60_000;

    private final RedisLockRegistry spin;
    private final RedisLockRegistry pubSub;

    IntegrationLibrary(RedisConnectionFactory redis) {
        spin = new RedisLockRegistry(redis, "reg", LEASE);
        pubSub = new RedisLockRegistry(redis, "reg", LEASE);
        pubSub.setRedisLockType(RedisLockType.PUB_SUB_LOCK);
    }

    @Override
    public Lock lock(String kind, String key) {
        DistributedLock lock = (kind.equals("spin") ? spin : pubSub).obtain(key);
        return new Lock() {
            @Override
            public boolean tryLock(long wait, long lease) throws Exception {
                return lock.tryLock(Duration.ofMillis(wait), Duration.ofMillis(lease == 0 ? LEASE : lease));
            }

            @Override
            public void unlock() {
                lock.unlock();
            }
        };
    }
}
