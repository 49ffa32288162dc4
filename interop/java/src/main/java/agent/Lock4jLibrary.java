package agent;

import com.baomidou.lock.LockInfo;
import com.baomidou.lock.LockTemplate;
import com.baomidou.lock.executor.LockExecutor;
import com.baomidou.lock.executor.RedisTemplateLockExecutor;
import com.baomidou.lock.executor.RedissonLockExecutor;
import com.baomidou.lock.spring.boot.autoconfigure.Lock4jProperties;
import java.util.List;
import org.redisson.api.RedissonClient;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;

/** lock4j, with the executor that its kind names. */
final class Lock4jLibrary implements Library {
    private final LockTemplate template = new LockTemplate();

    Lock4jLibrary(RedisConnectionFactory redis, RedissonClient redisson) {
        Lock4jProperties properties = new Lock4jProperties();
        template.setProperties(properties);
        template.setExecutors(List.of(
                new RedisTemplateLockExecutor(new StringRedisTemplate(redis), properties),
                new RedissonLockExecutor(redisson)));
        try {
            template.afterPropertiesSet();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public Lock lock(String kind, String key) {
        Class<? extends LockExecutor> executor =
                kind.equals("redisson") ? RedissonLockExecutor.class : RedisTemplateLockExecutor.class;
        return new Lock() {
            private volatile LockInfo held;

            @Override
            public boolean tryLock(long wait, long lease) {
                LockInfo info = template.lock(key, lease == 0 ? -1 : lease, wait, executor);
                if (info != null) {
                    held = info;
                }
                return info != null;
            }

            @Override
            public void unlock() {
                if (!template.releaseLock(held)) {
                    throw new IllegalStateException("not the owner");
                }
            }
        };
    }
}
