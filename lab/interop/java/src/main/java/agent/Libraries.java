package agent;

import java.util.HashMap;
import java.util.Map;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import redis.clients.jedis.RedisClient;

/** The lock libraries. Each is connected when it is first used. */
final class Libraries {
    private final String redis;
    private final String zooKeeper;
    private final int lease;
    private final Map<String, Library> open = new HashMap<>();
    private RedissonLibrary redisson;
    private LettuceConnectionFactory lettuce;
    private RedisClient jedis;

    Libraries(String redis, String zooKeeper, int lease) {
        this.redis = redis;
        this.zooKeeper = zooKeeper;
        this.lease = lease;
    }

    synchronized Library get(String name) throws Exception {
        Library library = open.get(name);
        if (library == null) {
            library = open(name);
            open.put(name, library);
        }
        return library;
    }

    private Library open(String name) throws Exception {
        switch (name) {
            case "redisson":
                return redisson();
            case "jedis":
                return new JedisLibrary(jedis());
            case "aspect":
                return new AspectLibrary(lettuce());
            case "integration":
                return new IntegrationLibrary(lettuce());
            case "shedlock":
                return new ShedLockLibrary(lettuce());
            case "lock4j":
                return new Lock4jLibrary(lettuce(), redisson().client, lease);
            case "curator":
                return new CuratorLibrary(zooKeeper, lease);
            default:
                throw new IllegalArgumentException("no library " + name);
        }
    }

    private RedissonLibrary redisson() {
        if (redisson == null) {
            redisson = new RedissonLibrary("redis://" + redis, lease);
        }
        return redisson;
    }

    /** The client of Spring Data Redis. */
    private LettuceConnectionFactory lettuce() {
        if (lettuce == null) {
            lettuce = new LettuceConnectionFactory(host(), port());
            lettuce.afterPropertiesSet();
            lettuce.start();
        }
        return lettuce;
    }

    synchronized RedisClient jedis() {
        if (jedis == null) {
            jedis = RedisClient.create(host(), port());
        }
        return jedis;
    }

    private String host() {
        return redis.substring(0, redis.indexOf(':'));
    }

    private int port() {
        return Integer.parseInt(redis.substring(redis.indexOf(':') + 1));
    }
}
