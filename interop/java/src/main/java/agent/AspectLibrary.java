package agent;

import aspect.DistributedLock;
import aspect.DistributedLockAspect;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.springframework.aop.aspectj.annotation.AspectJProxyFactory;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;

/**
 * Methods that the aspect locks. Who has the lock is inside of the method. The record is
 * my-test-HASH-locks.
 */
final class AspectLibrary implements Library {
    /** What the method does in the thread that calls it. */
    private static final ThreadLocal<Runnable> WORK = new ThreadLocal<>();

    /** The service behind the proxy. */
    public static class Service {
        @DistributedLock(prefix = "my-", value = "test", keyTimeout = 3000, retryCount = 0, paramLock = true, retryInterval = 200)
        public void wait(String key) {
            WORK.get().run();
        }

        @DistributedLock(prefix = "my-", value = "test", keyTimeout = 3000, retryCount = 1, paramLock = true, retryInterval = 1)
        public void once(String key) {
            WORK.get().run();
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
        return new Lock() {
            private CountDownLatch release;
            private CompletableFuture<Void> returned;

            @Override
            public boolean tryLock(long wait, long lease) throws Exception {
                CountDownLatch leave = new CountDownLatch(1);
                CompletableFuture<Void> inside = new CompletableFuture<>();
                CompletableFuture<Void> end = new CompletableFuture<>();
                Thread thread = new Thread(() -> {
                    WORK.set(() -> {
                        inside.complete(null);
                        try {
                            leave.await();
                        } catch (InterruptedException e) {
                            throw new IllegalStateException(e);
                        }
                    });
                    try {
                        if (wait == 0) {
                            service.once(key);
                        } else {
                            service.wait(key);
                        }
                        end.complete(null);
                    } catch (Throwable e) {
                        end.completeExceptionally(e);
                    }
                });
                thread.start();
                try {
                    CompletableFuture.anyOf(inside, end).get(wait == 0 ? 60_000 : wait, TimeUnit.MILLISECONDS);
                } catch (TimeoutException e) {
                    thread.interrupt();
                    return false;
                } catch (ExecutionException e) {
                    throw (Exception) e.getCause();
                }
                if (!inside.isDone()) {
                    return false;
                }
                release = leave;
                returned = end;
                return true;
            }

            @Override
            public void unlock() throws Exception {
                release.countDown();
                returned.get();
            }
        };
    }
}
