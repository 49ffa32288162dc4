// @ts-check

/**
 * @typedef {object} Holder
 * @property {string} [holder] its name
 * @property {string} fingerprint identifies the owner without revealing it
 * @property {string} [token] the first, decimal; it may be larger than a safe integer
 * @property {string} [last_token] the last
 * @property {string} [since] RFC 3339, by the store's clock
 * @property {string} [until] RFC 3339, when the lease ends unless it is renewed
 *
 * @typedef {object} Waiter
 * @property {string} [waiter] its name
 * @property {string} [fingerprint] that of the holder that it becomes
 * @property {"exclusive"|"shared"|"permits"} mode what it asks for
 * @property {number} [permits] how many there are, if it asks for one
 * @property {string} [since] RFC 3339, by the store's clock
 *
 * @typedef {object} Lock
 * @property {string} key
 * @property {"exclusive"|"shared"|"permits"|"foreign"} mode
 * @property {string} [foreign] what the key contains if it is not a lock of distlock
 * @property {number} held
 * @property {number} waiting in the store
 * @property {number} waiting_here behind another caller of the process that serves this page
 * @property {Holder[]} holders
 * @property {Waiter[]} waiters the first, in the order of the queue
 * @property {string} [kept_since] since when a function of the server's process runs whose lease is over
 *
 * @typedef {object} Entry One holder that had a key.
 * @property {string} holder
 * @property {string} fingerprint
 * @property {string} token
 * @property {string} [last_token]
 * @property {number} from milliseconds since 1970
 * @property {number} [to] when it no longer had the key; undefined: it still has it
 */

const entriesPerKey = 50;
const freeKeys = 50;

/** What was seen since the page was opened. The server keeps no history. */
export class History {
  /** @type {Map<string, Entry[]>} the newest entry of a key is the first */
  #entries = new Map();

  /**
   * Compares a list of locks with what was seen before.
   * @param {Lock[]} locks
   * @param {number} at when the list was made, in milliseconds since 1970
   */
  update(locks, at) {
    const now = new Map(locks.map((lock) => [lock.key, lock]));
    for (const [key, entries] of this.#entries) {
      const lock = now.get(key);
      const ids = new Set(lock?.holders.map(id));
      // It ended some time before it was seen, and before the next holder began.
      const next = lock?.mode === "exclusive" ? Date.parse(lock.holders[0]?.since ?? "") : NaN;
      const end = next < at ? next : at;
      for (const entry of entries) {
        if (entry.to === undefined && !ids.has(id(entry))) entry.to = Math.max(entry.from, end);
      }
    }
    for (const lock of locks) {
      if (lock.held > 0) this.#add(lock, at);
    }
    const free = [...this.#entries.keys()].filter((key) => !now.get(key)?.held);
    for (const key of free.slice(0, -freeKeys)) this.#entries.delete(key);
  }

  /**
   * @param {Lock} lock
   * @param {number} at
   */
  #add(lock, at) {
    const entries = this.#entries.get(lock.key) ?? [];
    this.#entries.delete(lock.key); // the keys that were held last stay longest
    for (const holder of lock.holders) {
      if (entries.some((entry) => entry.to === undefined && id(entry) === id(holder))) continue;
      const since = holder.since ? Date.parse(holder.since) : at;
      entries.unshift({
        holder: holder.holder ?? "", fingerprint: holder.fingerprint, token: holder.token ?? "", last_token: holder.last_token, from: since,
      });
    }
    const kept = entries.filter((entry, i) => i < entriesPerKey || entry.to === undefined);
    this.#entries.set(lock.key, kept);
  }

  /**
   * @param {string} key
   * @returns {readonly Entry[]} the newest first
   */
  of(key) {
    return this.#entries.get(key) ?? [];
  }

  /** @returns {string[]} all keys that were held */
  keys() {
    return [...this.#entries.keys()];
  }
}

/** @param {{fingerprint: string, token?: string}} holder */
function id(holder) {
  return `${holder.fingerprint} ${holder.token ?? ""}`;
}
