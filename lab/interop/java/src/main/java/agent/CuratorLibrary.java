package agent;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.recipes.locks.Revoker;
import org.apache.curator.retry.RetryOneTime;

/** Curator's recipes. The key is the path. */
final class CuratorLibrary implements Library {
    private final CuratorFramework client;
    private final Map<String, CountDownLatch> revoked = new ConcurrentHashMap<>();

    CuratorLibrary(String address, int session) {
        client = CuratorFrameworkFactory.newClient(address, session, session, new RetryOneTime(100));
        client.start();
    }

    @Override
    public Lock lock(String kind, String path) {
        switch (kind) {
            case "mutex":
                return lock(new InterProcessMutex(client, path));
            case "revocable":
                InterProcessMutex mutex = new InterProcessMutex(client, path);
                CountDownLatch asked = new CountDownLatch(1);
                revoked.put(path, asked);
                mutex.makeRevocable(lock -> asked.countDown());
                return lock(mutex);
            case "read":
                return lock(new InterProcessReadWriteLock(client, path).readLock());
            case "write":
                return lock(new InterProcessReadWriteLock(client, path).writeLock());
            case "semaphoremutex":
                return lock(new InterProcessSemaphoreMutex(client, path));
            case "semaphore":
                return semaphore(new InterProcessSemaphoreV2(client, path, 1));
            case "selector":
                return new Selected(path);
            case "latch":
                return new Latched(path);
            default:
                throw new IllegalArgumentException(kind);
        }
    }

    private static Lock lock(InterProcessLock lock) {
        return new Lock() {
            @Override
            public boolean tryLock(long wait, long lease) throws Exception {
                return lock.acquire(Math.max(wait, 1), TimeUnit.MILLISECONDS);
            }

            @Override
            public void unlock() throws Exception {
                lock.release();
            }
        };
    }

    private static Lock semaphore(InterProcessSemaphoreV2 semaphore) {
        return new Lock() {
            private volatile Lease held;

            @Override
            public boolean tryLock(long wait, long lease) throws Exception {
                held = semaphore.acquire(Math.max(wait, 1), TimeUnit.MILLISECONDS);
                return held != null;
            }

            @Override
            public void unlock() {
                semaphore.returnLease(held);
            }
        };
    }

    /** The leadership of a LeaderSelector. */
    private final class Selected implements Lock {
        private final String path;
        private LeaderSelector selector;
        private CountDownLatch resign;

        Selected(String path) {
            this.path = path;
        }

        @Override
        public boolean tryLock(long wait, long lease) throws Exception {
            CountDownLatch leads = new CountDownLatch(1);
            CountDownLatch ends = new CountDownLatch(1);
            LeaderSelector candidate = new LeaderSelector(client, path, new LeaderSelectorListenerAdapter() {
                @Override
                public void takeLeadership(CuratorFramework client) throws Exception {
                    leads.countDown();
                    ends.await();
                }
            });
            candidate.start();
            // One attempt of a candidate takes a few round trips.
            if (!leads.await(Math.max(wait, 1000), TimeUnit.MILLISECONDS)) {
                candidate.close();
                return false;
            }
            selector = candidate;
            resign = ends;
            return true;
        }

        @Override
        public void unlock() {
            resign.countDown();
            selector.close();
        }
    }

    /** The leadership of a LeaderLatch. */
    private final class Latched implements Lock {
        private final String path;
        private LeaderLatch latch;

        Latched(String path) {
            this.path = path;
        }

        @Override
        public boolean tryLock(long wait, long lease) throws Exception {
            LeaderLatch candidate = new LeaderLatch(client, path);
            candidate.start();
            if (!candidate.await(Math.max(wait, 1000), TimeUnit.MILLISECONDS)) {
                candidate.close();
                return false;
            }
            latch = candidate;
            return true;
        }

        @Override
        public void unlock() throws Exception {
            latch.close();
        }
    }

    @Override
    public String call(String verb, String kind, String path, String[] more) throws Exception {
        switch (verb) {
            case "revoke": // asks the holders below the path to give the lock back
                for (String child : client.getChildren().forPath(path)) {
                    Revoker.attemptRevoke(client, path + "/" + child);
                }
                return "done";
            case "revoked": // waits until the holder is asked
                return "" + revoked.get(path).await(Long.parseLong(more[0]), TimeUnit.MILLISECONDS);
            default:
                throw new IllegalArgumentException(verb);
        }
    }
}
