package peers;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** Curator's InterProcessMutex, one for each key, with the session timeout of the other peers. */
final class CuratorPeer implements Peer {
    private static final int SESSION_TIMEOUT = 20_000;
    private static final int CONNECTION_TIMEOUT = 15_000;

    private final CuratorFramework client;
    private final Map<String, InterProcessMutex> mutexes = new ConcurrentHashMap<>();

    CuratorPeer(String url) {
        client = CuratorFrameworkFactory.newClient(
                url.substring("zk://".length()), SESSION_TIMEOUT, CONNECTION_TIMEOUT, new ExponentialBackoffRetry(100, 3));
        client.start();
    }

    @Override
    public Held lock(String key, long limitNanos) throws Exception {
        InterProcessMutex mutex = mutexes.computeIfAbsent(key, k -> new InterProcessMutex(client, "/" + k));
        if (!mutex.acquire(limitNanos, TimeUnit.NANOSECONDS)) {
            throw new TimeoutException("InterProcessMutex.acquire: " + key);
        }
        return mutex::release;
    }

    @Override
    public void close() {
        client.close();
    }
}
