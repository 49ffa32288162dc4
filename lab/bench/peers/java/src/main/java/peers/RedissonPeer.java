package peers;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Redisson's RLock, with the defaults of Redisson: 32 netty threads, 64 connections, the watchdog. */
final class RedissonPeer implements Peer {
    private final RedissonClient client;

    RedissonPeer(String url) {
        Config config = new Config();
        config.useSingleServer().setAddress(url);
        client = Redisson.create(config);
    }

    @Override
    public Held lock(String key, long limitNanos) throws Exception {
        RLock lock = client.getLock(key);
        if (!lock.tryLock(limitNanos, TimeUnit.NANOSECONDS)) {
            throw new TimeoutException("RLock.tryLock: " + key);
        }
        return lock::unlock;
    }

    @Override
    public void close() {
        client.shutdown();
    }
}
