package agent;

import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import redis.clients.jedis.RedisClient;

/** The calls of an {@link Agent}. */
final class Calls {
    private final Libraries libraries;
    private final Map<String, Lock> locks = new ConcurrentHashMap<>();

    Calls(Libraries libraries) {
        this.libraries = libraries;
    }

    /** Makes a call: the library and the kind of lock with a dot between, a verb, a key, and more. */
    String call(String[] word) throws Exception {
        String name = word[0].substring(0, word[0].indexOf('.'));
        String kind = word[0].substring(name.length() + 1);
        Library library = libraries.get(name);
        String verb = word[1];
        String key = word[2];
        String[] more = Arrays.copyOfRange(word, 3, word.length);
        Lock lock = locks.computeIfAbsent(word[0] + " " + key, k -> library.lock(kind, key));
        switch (verb) {
            case "try":
                return "" + lock.tryLock(0, number(more, 0));
            case "wait":
                return "" + lock.tryLock(number(more, 0), number(more, 1));
            case "unlock":
                lock.unlock();
                return "done";
            case "count":
                return count(lock, number(more, 0), more[1]);
            default:
                return library.call(verb, kind, key, more);
        }
    }

    private static long number(String[] words, int i) {
        return i < words.length ? Long.parseLong(words[i]) : 0;
    }

    /** Counts up n times: under the lock it reads the counter, adds one, and writes it. */
    private String count(Lock lock, long n, String counter) throws Exception {
        RedisClient redis = libraries.jedis();
        for (long i = 0; i < n; i++) {
            if (!lock.tryLock(120_000, 0)) {
                return "!not acquired after two minutes";
            }
            try {
                String value = redis.get(counter);
                redis.set(counter, "" + (value == null ? 1 : Long.parseLong(value) + 1));
            } finally {
                lock.unlock();
            }
        }
        return "done";
    }
}
