import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
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
            InterProcessLock lock = locks.computeIfAbsent(word[1] + word[2], name -> {
                switch (word[1]) {
                    case "mutex": return new InterProcessMutex(client, word[2]);
                    case "read": return new InterProcessReadWriteLock(client, word[2]).readLock();
                    default: return new InterProcessReadWriteLock(client, word[2]).writeLock();
                }
            });
            try {
                switch (word[0]) {
                    case "try":
                        System.out.println(lock.acquire(1, TimeUnit.MILLISECONDS));
                        break;
                    case "acquire":
                        System.out.println(lock.acquire(1, TimeUnit.MINUTES));
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
}
