package agent;

import com.baomidou.lock.DefaultLockFailureStrategy;
import com.baomidou.lock.DefaultLockKeyBuilder;
import com.baomidou.lock.LockInfo;
import com.baomidou.lock.LockTemplate;
import com.baomidou.lock.annotation.Lock4j;
import com.baomidou.lock.aop.LockAnnotationAdvisor;
import com.baomidou.lock.aop.LockInterceptor;
import com.baomidou.lock.exception.LockFailureException;
import com.baomidou.lock.executor.LockExecutor;
import com.baomidou.lock.executor.RedisTemplateLockExecutor;
import com.baomidou.lock.executor.RedissonLockExecutor;
import com.baomidou.lock.spring.boot.autoconfigure.Lock4jProperties;
import java.util.List;
import org.redisson.api.RedissonClient;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.beans.factory.support.DefaultListableBeanFactory;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;

/**
 * lock4j. The kind "method" is a method with the annotation, and its record is
 * lock4j:orders#KEY. The other kinds are locks of a LockTemplate with an executor.
 */
final class Lock4jLibrary implements Library {
    /** The service behind the proxy. */
    public static class Service {
        @Lock4j(name = "orders", keys = "#id", executor = RedisTemplateLockExecutor.class, acquireTimeout = 120_000)
        public void waits(String id) {
            MethodLock.inside();
        }

        @Lock4j(name = "orders", keys = "#id", executor = RedisTemplateLockExecutor.class, acquireTimeout = 0)
        public void once(String id) {
            MethodLock.inside();
        }
    }

    private final LockTemplate template = new LockTemplate();
    private final Service service;

    Lock4jLibrary(RedisConnectionFactory redis, RedissonClient redisson, long lease) throws Exception {
        Lock4jProperties properties = new Lock4jProperties();
        properties.setExpire(lease);
        template.setProperties(properties);
        template.setExecutors(List.of(
                new RedisTemplateLockExecutor(new StringRedisTemplate(redis), properties),
                new RedissonLockExecutor(redisson)));
        template.afterPropertiesSet();
        LockInterceptor interceptor = new LockInterceptor(
                template,
                List.of(new DefaultLockKeyBuilder(new DefaultListableBeanFactory())),
                List.of(new DefaultLockFailureStrategy()),
                properties);
        interceptor.afterPropertiesSet();
        ProxyFactory factory = new ProxyFactory(new Service());
        factory.setProxyTargetClass(true);
        factory.addAdvisor(new LockAnnotationAdvisor(interceptor, 0));
        service = (Service) factory.getProxy();
    }

    @Override
    public Lock lock(String kind, String key) {
        switch (kind) {
            case "method":
                return method(key);
            case "redisson":
                return lock(RedissonLockExecutor.class, key);
            default:
                return lock(RedisTemplateLockExecutor.class, key);
        }
    }

    private MethodLock method(String key) {
        return new MethodLock(() -> service.waits(key), () -> {
            try {
                service.once(key);
            } catch (LockFailureException e) {
                return; // the method did not run
            }
        });
    }

    private Lock lock(Class<? extends LockExecutor> executor, String key) {
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
