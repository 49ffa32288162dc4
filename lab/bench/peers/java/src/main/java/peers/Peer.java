package peers;

/** Takes locks in one store with one library. It may be used by many threads. */
interface Peer extends AutoCloseable {
    /**
     * Waits for the lock and acquires it.
     *
     * @return what releases it
     */
    Held lock(String key, long limitNanos) throws Exception;

    /** A lock that is held by this thread. */
    interface Held {
        void unlock() throws Exception;
    }
}
