import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.Map;
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
import org.apache.curator.framework.recipes.locks.Revoker;
import org.apache.curator.retry.RetryOneTime;

/**
 * Acquires and releases locks with Curator. Each line of the input has a verb, a kind and
 * a path. Each line of the output is the answer. The argument is the server's address.
 */
public class Curator {
    public static void main(String[] args) throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.newClient(args[0], new RetryOneTime(100));
        client.start();
        client.blockUntilConnected();
        System.out.println("ready");
        Map<String, InterProcessLock> locks = new HashMap<>();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null; ) {
            String[] word = line.split(" ");
            InterProcessLock lock = locks.computeIfAbsent(word[1] + word[2], name -> open(client, word[1], word[2]));
            try {
                switch (word[0]) {
                    case "try":
                        System.out.println(lock.acquire(1, TimeUnit.MILLISECONDS));
                        break;
                    case "acquire":
                        System.out.println(lock.acquire(1, TimeUnit.MINUTES));
                        break;
                    case "revoke":
                        Revoker.attemptRevoke(client, ((InterProcessMutex) lock).getParticipantNodes().iterator().next());
                        System.out.println("asked");
                        break;
                    default:
                        lock.release();
                        System.out.println("released");
                }
            } catch (Exception e) {
                System.out.println(e);
            }
        }
        client.close();
    }

    static InterProcessLock open(CuratorFramework client, String kind, String path) {
        switch (kind) {
            case "mutex": return new InterProcessMutex(client, path);
            case "read": return new InterProcessReadWriteLock(client, path).readLock();
            case "write": return new InterProcessReadWriteLock(client, path).writeLock();
            case "semaphore": return new InterProcessSemaphoreMutex(client, path);
            case "selector": case "selector2": return new Selector(client, path);
            case "latch": case "latch2": return new Latch(client, path);
            case "revocable":
                InterProcessMutex mutex = new InterProcessMutex(client, path);
                mutex.makeRevocable(asked -> System.out.println("revoked"));
                return mutex;
            default: throw new IllegalArgumentException(kind);
        }
    }

    /** A candidate as a lock: the holder leads. */
    abstract static class Candidate implements InterProcessLock {
        @Override public void acquire() {
            throw new UnsupportedOperationException();
        }

        @Override public boolean isAcquiredInThisProcess() {
            throw new UnsupportedOperationException();
        }
    }

    static class Selector extends Candidate {
        private final CountDownLatch leads = new CountDownLatch(1);
        private final CountDownLatch resigned = new CountDownLatch(1);
        private final LeaderSelector selector;

        Selector(CuratorFramework client, String path) {
            selector = new LeaderSelector(client, path, new LeaderSelectorListenerAdapter() {
                @Override public void takeLeadership(CuratorFramework c) throws InterruptedException {
                    leads.countDown();
                    resigned.await();
                }
            });
        }

        @Override public boolean acquire(long time, TimeUnit unit) throws Exception {
            selector.start();
            return leads.await(time, unit);
        }

        @Override public void release() {
            resigned.countDown();
        }
    }

    static class Latch extends Candidate {
        private final LeaderLatch latch;

        Latch(CuratorFramework client, String path) {
            latch = new LeaderLatch(client, path);
        }

        @Override public boolean acquire(long time, TimeUnit unit) throws Exception {
            latch.start();
            return latch.await(time, unit);
        }

        @Override public void release() throws Exception {
            latch.close();
        }
    }
}
