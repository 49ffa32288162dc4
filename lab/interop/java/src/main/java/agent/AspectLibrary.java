package agent;

import aspect.DistributedLock;
import aspect.DistributedLockAspect;
import org.springframework.aop.aspectj.annotation.AspectJProxyFactory;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;

/** Methods with the aspect's annotation. The record is my-test-HASH-locks. */
final class AspectLibrary implements Library {
    /** The service behind the proxy. */
    public static class Service {
        @DistributedLock(prefix = "my-", value = "test", keyTimeout = 12_000, retryCount = 0, paramLock = true, retryInterval = 200)
        public void waits(String key) {
            MethodLock.inside();
        }

        @DistributedLock(prefix = "my-", value = "test", keyTimeout = 12_000, retryCount = 1, paramLock = true, retryInterval = 1)
        public void once(String key) {
            MethodLock.inside();
        }
    }

    private final Service service;

    AspectLibrary(RedisConnectionFactory redis) {
        AspectJProxyFactory factory = new AspectJProxyFactory(new Service());
        factory.setProxyTargetClass(true);
        factory.addAspect(new DistributedLockAspect(new StringRedisTemplate(redis)));
        service = factory.getProxy();
    }

    @Override
    public Lock lock(String kind, String key) {
        return new MethodLock(() -> service.waits(key), () -> service.once(key));
    }
}
