// Package redissonlock shares locks with Redisson, the Redis client for Java: with its
// RLock, RFencedLock, RSpinLock and RReadWriteLock. It is for services that are moved
// from Java to Go one after the other, and for fleets that stay mixed.
//
//	rdb := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
//	locker := distlock.New(redissonlock.New(rdb, redissonlock.Config{}), distlock.Config{})
//	defer locker.Close()
//
// The key is the name of the lock in Java: getLock("stock:42") and the key "stock:42"
// are the same lock. In a fleet without Redisson use package redislock, which has a
// queue.
//
// It needs Redis 5 or newer, in a Cluster Redis 7, and for inspection Redis 6. It was
// tested with Redisson 4.7.
//
// # Record
//
// A lock is a hash at the key, which expires with the lease. Redisson's fields are
// "<uuid of its client>:<number of the thread>", and their values are how often the
// thread holds the lock. A lock of this package has two fields:
//
//   - "<owner>:0" has the value 1. No thread of Java has the number 0.
//   - mode has the value write. RLock ignores it. RReadWriteLock would take a lock without it.
//
// Two more keys are in the same hash slot. If the key of the lock has a hash tag, as in
// {order}:1, their names are as in redisson_lock_token:{order}:1.
//
//   - redisson_lock_token:{key} is the token counter of RFencedLock. It does not expire, so
//     one such key stays for each lock that was ever used.
//   - distlock_gone:{key} is a sorted set of tombstones: owners that were released while an
//     attempt was in doubt, and owners that ForceRelease took the lock away from. It is kept for
//     15 minutes after the last of them.
//
// By Redisson's rule the keys order and {order} have one counter and one channel, as in
// Java. They are two locks all the same.
//
// A value of another type, and a hash that does not expire, stays unchanged
// ([driver.ErrForeign]).
//
// # What holds in a mixed fleet
//
// At most one holder has a key, in Java or in Go, as long as Redis loses no data and
// each process stops when its lease ends. Redisson does not tell a thread that it has
// lost its lock: isHeldByCurrentThread does, or unlock throws an exception. Only the
// tokens of RFencedLock protect from it.
//
// There is no queue, as there is none in Redisson: when a lock is released, all waiters
// race for it.
//
//   - RLock: both sides exclude and wake each other. A thread of Java may lock again what it
//     holds; that is its own affair. forceUnlock takes a lock of Go away, and ForceRelease one
//     of Java.
//   - RFencedLock: the same, and the tokens are shared. Its tokens are as large as in
//     this package, about 1.8e15, from the first acquisition in Go on.
//   - RReadWriteLock: both of its locks exclude the locks of this package, and are woken by
//     them. RLock and RReadWriteLock must not be mixed on one name, because Redisson itself
//     does not exclude them.
//   - RSpinLock: it polls, and publishes nothing. So this package finds it released by its own
//     polls.
//   - RFairLock: both sides exclude each other, but this package does not queue: it overtakes
//     waiters in Java.
//   - RSemaphore, RPermitExpirableSemaphore and RCountDownLatch are not locks, and are not
//     shared.
//
// Redisson's checkLockSyncedSlaves waits for replicas after it has acquired a lock.
// This package does not.
//
// All locks are exclusive. [distlock.Locker] promises readers and permits together, and
// the record of RReadWriteLock has no place for permits.
//
// # Guarantees and their conditions
//
// Redis may lose data in a failover to a replica that was behind, in a restart without
// an append-only file, and by eviction. Then two holders may have one lock, until the
// first learns of the loss from its next renewal. Set maxmemory-policy to noeviction.
//
// Each grant of a key has larger tokens than all grants before, as long as the counter
// is there. If it is lost, tokens of this package continue with the server's time, and
// RFencedLock begins with 1. If the counter has a value that is not a token,
// the lock is not granted until it is deleted.
//
// An operation returns when its context ends, and after the operation timeout in any
// case, whatever the timeouts of the client are. A server that is out of memory refuses
// new locks; existing ones can be renewed and released.
//
// # Access control
//
// These ACL rules are sufficient for locks with the prefix "shop:".
//
//	resetkeys ~shop:* ~redisson_lock_token:{shop:*} ~distlock_gone:{shop:*} ~distlock:ping ~distlock_gone:{distlock:ping}
//	resetchannels &redisson_lock__channel:{shop:*} &redisson_rwlock:{shop:*}
//	-@all +eval +evalsha +hexists +hlen +hset +hgetall +hkeys +get +set +del +exists +pexpire
//	+pttl +zadd +zscore +zremrangebyscore +publish +time +subscribe +unsubscribe +ping +hello
//	+client|setname +type
//
// Inspection also needs scan, which shows the names of all keys. Without subscribe,
// waiters poll. Without publish, waiters in Java sleep until the lease ends. Without
// unsubscribe, a process goes on listening to channels that it has waited for. Without
// ping, a dead connection for messages is noticed later. Without the two keys for Ping,
// it does not notice that the server takes no writes. Without type, errors do not
// contain the type of a foreign value. In a Cluster add +spublish +ssubscribe
// +sunsubscribe +cluster|slots +command.
package redissonlock
