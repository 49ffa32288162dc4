import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.StringJoiner;

/** Prints what Java makes of the values in javakey_test.go, a name and a result on each line. */
public class Golden {
    static void hash(String name, Object value) {
        System.out.println(name + "\t" + Objects.hashCode(value));
    }

    static void code(String name, int code) {
        System.out.println(name + "\t" + code);
    }

    /** The key of the aspect. */
    static String aspect(String prefix, String value, boolean paramLock, Object... arguments) {
        StringBuilder key = new StringBuilder(prefix).append(value);
        if (paramLock) {
            for (Object argument : arguments) {
                if (argument != null) {
                    key.append("-").append(argument.hashCode());
                }
            }
        }
        return key.append("-locks").toString();
    }

    /** The key of lock4j: LockInterceptor and DefaultLockKeyBuilder, without Spring. */
    static String lock4j(String name, Object... keys) {
        StringJoiner joined = new StringJoiner(".");
        for (Object key : keys) {
            joined.add(String.valueOf(key));
        }
        return "lock4j" + ":" + name + "#" + joined;
    }

    /** The key of ShedLock: InternalRedisLockProvider.buildKey. */
    static String shedLock(String lockName, String keyPrefix, String env) {
        return String.format("%s:%s:%s", keyPrefix, env, lockName);
    }

    public static void main(String[] args) throws Exception {
        System.setOut(new java.io.PrintStream(System.out, true, "UTF-8"));

        hash("string empty", "");
        hash("string a", "a");
        hash("string order", "order-4711");
        hash("string long", "The quick brown fox jumps over the lazy dog, and then it sleeps.");
        hash("string collides 1", "Aa");
        hash("string collides 2", "BB");
        hash("string umlaut", "Gr\u00fc\u00dfe");
        hash("string decomposed", "e\u0301");
        hash("string kanji", "\u9375");
        hash("string surrogates", "\ud800\udc00 \ud83d\udd11 and \ud834\udd1e");
        hash("string replacement", "\ufffd\uffff");
        hash("string NUL", "\u0000\u0000");
        hash("bool true", true);
        hash("bool false", false);
        hash("byte", (byte) -128);
        hash("short", (short) -32768);
        hash("int 0", 0);
        hash("int -1", -1);
        hash("int max", Integer.MAX_VALUE);
        hash("int min", Integer.MIN_VALUE);
        hash("long -1", -1L);
        hash("long 7", 7L);
        hash("long 2^31", 1L << 31);
        hash("long 2^32", 1L << 32);
        hash("long max", Long.MAX_VALUE);
        hash("long min", Long.MIN_VALUE);
        hash("long mixed", 0x0123456789abcdefL);
        hash("float 0", 0f);
        hash("float -0", -0f);
        hash("float 1.5", 1.5f);
        hash("float NaN", Float.NaN);
        hash("float infinite", Float.NEGATIVE_INFINITY);
        hash("double 0", 0.0);
        hash("double -0", -0.0);
        hash("double 0.1", 0.1);
        hash("double -2.75", -2.75);
        hash("double NaN", Double.NaN);
        hash("double max", Double.MAX_VALUE);
        hash("double min", Double.MIN_VALUE);
        hash("null", null);

        hash("list empty", List.of());
        hash("list of null", Collections.singletonList(null));
        hash("list of strings", List.of("a", "b", "order-4711"));
        hash("list of mixed", Arrays.asList("u1", 7, null, -1L, true, 1.5, List.of(1, 2)));
        hash("list of lists", List.of(List.of(), List.of(List.of())));
        code("array of Object", Arrays.hashCode(new Object[] {"u1", 7, null}));
        code("array of int", Arrays.hashCode(new int[] {1, -1, Integer.MIN_VALUE}));
        code("array of long", Arrays.hashCode(new long[] {1, -1, Long.MIN_VALUE}));
        code("array of byte", Arrays.hashCode(new byte[] {0, 1, 127, -128, -1}));
        code("array of boolean", Arrays.hashCode(new boolean[] {true, false}));
        code("array of double", Arrays.hashCode(new double[] {0.1, -0.0, Double.NaN}));
        code("array of float", Arrays.hashCode(new float[] {0.1f, -0f, Float.NaN}));
        List<String> many = new ArrayList<>();
        for (int i = 0; i < 1000; i++) {
            many.add("key-" + (long) i * i * i + (char) (i * 48 + 32) + (i % 7 == 0 ? "\ud83d\udd11" : ""));
        }
        hash("list of a thousand", many);

        System.out.println("aspect without arguments\t" + aspect("my-", "test", false, "u1"));
        System.out.println("aspect\t" + aspect("my-", "test", true, "order-4711"));
        System.out.println("aspect with three\t" + aspect("my-", "test", true, "u1", -7, -7L));
        System.out.println("aspect with null\t" + aspect("", "test", true, null, "u1", null));
        System.out.println("aspect with null alone\t" + aspect("", "test", true, (Object) null));
        System.out.println("aspect with a list\t" + aspect("", "test", true, List.of("u1", "u2")));
        System.out.println("lock4j without keys\t" + lock4j("pay"));
        System.out.println("lock4j\t" + lock4j("pay", "u1"));
        System.out.println("lock4j with five\t" + lock4j("pay", "u1", -7, 1L << 40, true, null));
        System.out.println("shedlock\t" + shedLock("report", "job-lock", "prod"));
        System.out.println("shedlock default\t" + shedLock("report", "job-lock", "default"));
    }
}
