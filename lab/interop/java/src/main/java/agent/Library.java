package agent;

/** A lock library, connected to its server. */
interface Library {
    /** Returns the lock of a kind with a name. */
    Lock lock(String kind, String key);

    /** Does what only this library can. */
    default String call(String verb, String kind, String key, String[] more) throws Exception {
        throw new IllegalArgumentException(verb);
    }
}
