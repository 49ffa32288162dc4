package agent;

import java.time.Duration;
import java.time.Instant;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.redis.spring.RedisLockProvider;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** ShedLock in the environment "prod". It does not wait for a lock. */
final class ShedLockLibrary implements Library {
    private final RedisLockProvider plain;
    private final RedisLockProvider safe;

    ShedLockLibrary(RedisConnectionFactory redis) {
        plain = new RedisLockProvider.Builder(redis).environment("prod").build();
        safe = new RedisLockProvider.Builder(redis).environment("prod").safeUpdate(true).build();
    }

    @Override
    public Lock lock(String kind, String key) {
        RedisLockProvider provider = kind.equals("safe") ? safe : plain;
        return new Lock() {
            private volatile SimpleLock held;

            @Override
            public boolean tryLock(long wait, long lease) {
                Duration atMost = Duration.ofMillis(lease == 0 ? 60_000 : lease);
                held = provider.lock(new LockConfiguration(Instant.now(), key, atMost, Duration.ZERO)).orElse(null);
                return held != null;
            }

            @Override
            public void unlock() {
                held.unlock();
            }
        };
    }
}
