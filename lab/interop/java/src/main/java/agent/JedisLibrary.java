package agent;

import java.util.List;
import java.util.UUID;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.params.SetParams;

/** SET NX PX with Jedis, as many programs do it: no renewal, and a poll every 100 ms. */
final class JedisLibrary implements Library {
    private static final String RELEASE =
            "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

    private final RedisClient redis;

    JedisLibrary(RedisClient redis) {
        this.redis = redis;
    }

    @Override
    public Lock lock(String kind, String key) {
        return new Lock() {
            private volatile String owner;

            @Override
            public boolean tryLock(long wait, long lease) throws Exception {
                String value = UUID.randomUUID().toString();
                SetParams params = SetParams.setParams().nx().px(lease == 0 ? 60_000 : lease);
                for (long end = System.nanoTime() + wait * 1_000_000; ; Thread.sleep(100)) {
                    if (redis.set(key, value, params) != null) {
                        owner = value;
                        return true;
                    }
                    if (System.nanoTime() >= end) {
                        return false;
                    }
                }
            }

            @Override
            public void unlock() {
                if (!redis.eval(RELEASE, List.of(key), List.of(owner)).equals(1L)) {
                    throw new IllegalStateException("not the owner");
                }
            }
        };
    }
}
