package aspect;

import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

import org.aspectj.lang.ProceedingJoinPoint;
import org.aspectj.lang.annotation.Around;
import org.aspectj.lang.annotation.Aspect;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.script.RedisScript;
import org.springframework.stereotype.Component;

/**
 * Runs the methods with {@link DistributedLock} under their locks. This is the usual aspect with SET NX,
 * with the usual faults: results and exceptions of the method are swallowed, and a method that did not get
 * the lock looks as if it had run.
 */
@Aspect
@Component
public class DistributedLockAspect {
    private static final Logger log = LoggerFactory.getLogger(DistributedLockAspect.class);

    private static final RedisScript<Long> RELEASE = RedisScript.of(
            "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0", Long.class);
    private static final RedisScript<Long> RENEW = RedisScript.of(
            "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0", Long.class);

    private final ScheduledExecutorService watchdog = Executors.newSingleThreadScheduledExecutor(task -> {
        Thread thread = new Thread(task, "lock-watchdog");
        thread.setDaemon(true);
        return thread;
    });
    private final StringRedisTemplate redis;

    public DistributedLockAspect(StringRedisTemplate redis) {
        this.redis = redis;
    }

    @Around("@annotation(lock)")
    public void around(ProceedingJoinPoint method, DistributedLock lock) throws InterruptedException {
        if (lock.retryCount() < 0 || lock.retryInterval() <= 0) {
            throw new IllegalArgumentException("retryCount is negative, or retryInterval is not positive");
        }
        String key = key(lock, method.getArgs());
        String owner = UUID.randomUUID().toString();
        ScheduledFuture<?> renewal = null;
        try {
            if (!acquire(lock, key, owner)) {
                log.warn("{} is held by another: {} does not run", key, method.getSignature());
                return;
            }
            renewal = renew(key, owner, lock.keyTimeout());
            method.proceed();
        } catch (InterruptedException e) {
            throw e;
        } catch (Throwable e) {
            log.error("{} failed: {}", method.getSignature(), e.toString());
        } finally {
            if (renewal != null) {
                renewal.cancel(false);
            }
            redis.execute(RELEASE, List.of(key), owner);
        }
    }

    static String key(DistributedLock lock, Object[] args) {
        StringBuilder key = new StringBuilder(lock.prefix()).append(lock.value());
        if (lock.paramLock()) {
            for (Object arg : args) {
                if (arg != null) {
                    key.append("-").append(arg.hashCode());
                }
            }
        }
        return key.append("-locks").toString();
    }

    private boolean acquire(DistributedLock lock, String key, String owner) throws InterruptedException {
        Duration lease = Duration.ofMillis(lock.keyTimeout());
        for (int attempt = 1; lock.retryCount() == 0 || attempt <= lock.retryCount(); attempt++) {
            if (Boolean.TRUE.equals(redis.opsForValue().setIfAbsent(key, owner, lease))) {
                return true;
            }
            long interval = lock.retryInterval();
            Thread.sleep(ThreadLocalRandom.current().nextLong(interval, 2 * interval));
        }
        return false;
    }

    /** Renews the lease at three quarters of it, until the lock is lost. */
    private ScheduledFuture<?> renew(String key, String owner, long lease) {
        long period = lease * 3 / 4;
        AtomicReference<ScheduledFuture<?>> task = new AtomicReference<>();
        task.set(watchdog.scheduleAtFixedRate(() -> {
            Long renewed = redis.execute(RENEW, List.of(key), owner, Long.toString(lease));
            if (!Long.valueOf(1).equals(renewed)) {
                task.get().cancel(false);
            }
        }, period, period, TimeUnit.MILLISECONDS));
        return task.get();
    }
}
