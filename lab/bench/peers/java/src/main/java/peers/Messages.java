package peers;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.Map;
import java.util.TreeMap;

/** What the parent and this process write to each other: see task.go. Durations are in nanoseconds. */
final class Messages {
    private Messages() {}

    @JsonIgnoreProperties(ignoreUnknown = true)
    record Task(
            @JsonProperty("Peer") String peer,
            @JsonProperty("URL") String url,
            @JsonProperty("Key") String key,
            @JsonProperty("OwnKeys") boolean ownKeys,
            @JsonProperty("Proc") int proc,
            @JsonProperty("Goroutines") int threads,
            @JsonProperty("Hold") long hold,
            @JsonProperty("Register") String register) {}

    @JsonIgnoreProperties(ignoreUnknown = true)
    record Order(
            @JsonProperty("Start") long start,
            @JsonProperty("Loops") int loops,
            @JsonProperty("For") long duration,
            @JsonProperty("Limit") long limit) {}

    /** A histogram with the buckets of histogram.go. */
    static final class Histogram {
        private static final int FINE_BITS = 7;

        @JsonProperty("Counts")
        final Map<Integer, Long> counts = new TreeMap<>();

        @JsonProperty("N")
        long n;

        @JsonProperty("Max")
        long max;

        void add(long nanos) {
            long v = Math.max(nanos, 0);
            int coarse = Math.max(64 - Long.numberOfLeadingZeros(v) - 1 - FINE_BITS, 0);
            counts.merge((coarse << FINE_BITS) + (int) (v >> coarse), 1L, Long::sum);
            n++;
            max = Math.max(max, nanos);
        }

        void add(Histogram other) {
            other.counts.forEach((bucket, count) -> counts.merge(bucket, count, Long::sum));
            n += other.n;
            max = Math.max(max, other.max);
        }
    }

    /** The sum and the maximum of durations. */
    static final class Spread {
        @JsonProperty("N")
        long n;

        @JsonProperty("Sum")
        long sum;

        @JsonProperty("Max")
        long max;

        void add(long nanos) {
            n++;
            sum += nanos;
            max = Math.max(max, nanos);
        }

        void add(Spread other) {
            n += other.n;
            sum += other.sum;
            max = Math.max(max, other.max);
        }
    }

    static final class Report {
        @JsonProperty("Err")
        String error = "";

        @JsonProperty("Locks")
        long locks;

        @JsonProperty("Start")
        long start;

        @JsonProperty("End")
        long end;

        @JsonProperty("Finished")
        boolean finished;

        @JsonProperty("Errors")
        int errors;

        @JsonProperty("FirstError")
        String firstError = "";

        @JsonProperty("Waits")
        final Histogram waits = new Histogram();

        @JsonProperty("Full")
        final Spread full = new Spread();

        @JsonProperty("HandOvers")
        final Histogram handOvers = new Histogram();
    }
}
