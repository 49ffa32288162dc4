package agent;

/** A lock of any library. */
interface Lock {
    /**
     * Waits up to wait milliseconds for the lock; 0 is one attempt. The lease is in
     * milliseconds; with 0 the library renews it if it can.
     */
    boolean tryLock(long wait, long lease) throws Exception;

    void unlock() throws Exception;
}
