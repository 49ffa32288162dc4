package peers;

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** The register of register.go, in the memory that the processes share. */
final class Register {
    private static final VarHandle LONGS =
            MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());

    // The offsets of the fields in register.go.
    private static final int CACHE_LINE = 64;
    private static final int INSIDE = CACHE_LINE;
    private static final int OVERLAPS = INSIDE + 16;
    private static final int ENTERED_AT = INSIDE + 32;
    private static final int LEFT_AT = INSIDE + 40;
    private static final int LEFT_BY = INSIDE + 48;
    private static final int HELD = INSIDE + 56;
    private static final int FIRST_ENTRY = INSIDE + 64;
    private static final int GRANTS = FIRST_ENTRY + 8 + CACHE_LINE;
    private static final int GRANT = 8 + CACHE_LINE;
    private static final int MAX_PROCS = 8;

    private final ByteBuffer memory;
    private final int proc;

    Register(String path, int proc) throws IOException {
        try (FileChannel file = FileChannel.open(Path.of(path), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            memory = file.map(FileChannel.MapMode.READ_WRITE, 0, GRANTS + MAX_PROCS * GRANT);
        }
        this.proc = proc;
    }

    /** Records a grant. Returns the time since the previous holder left if that was in another process, else -1. */
    long enter(long now) {
        if (add(INSIDE, 1) != 0) {
            add(OVERLAPS, 1);
        }
        add(GRANTS + proc * GRANT, 1);
        LONGS.setVolatile(memory, ENTERED_AT, now);
        LONGS.compareAndSet(memory, FIRST_ENTRY, 0L, now);
        long by = get(LEFT_BY);
        return by != 0 && by != proc + 1 ? now - get(LEFT_AT) : -1;
    }

    /** Records that this process is about to release the lock. */
    void leave(long now) {
        add(HELD, now - get(ENTERED_AT));
        LONGS.setVolatile(memory, LEFT_BY, (long) (proc + 1));
        LONGS.setVolatile(memory, LEFT_AT, now);
        add(INSIDE, -1);
    }

    private long add(int at, long n) {
        return (long) LONGS.getAndAdd(memory, at, n);
    }

    private long get(int at) {
        return (long) LONGS.getVolatile(memory, at);
    }
}
