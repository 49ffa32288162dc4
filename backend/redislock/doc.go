// Package redislock keeps distlock's locks in Redis: on one server, on a master
// that Sentinel watches, or in a Cluster, through the application's own go-redis
// client.
//
//	rdb := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
//	locker := distlock.New(redislock.New(rdb), distlock.Config{})
//	defer locker.Close()
//
// It needs Redis 5 or newer. Package redislock/embedded has a Redis inside the
// process, for demos and tests.
//
// # Keys
//
// A lock is one string key that holds its owner and ends with its lease (SET key
// owner PX ttl). That is the record that other kits write too, among them bsm's
// redislock, redsync, and the usual Spring aspects: locks of theirs are seen as
// held here, and locks of this package are seen as held there.
//
// A lock that several have, as readers ([driver.Shared]) or with permits, is a
// sorted set at the same key, of "r owner" or "p owner" by the server's time in
// microseconds at which the lease of each ends; the key ends with the last of them.
// Kits that take a lock with SET NX see such a lock as held too; a kit that reads the
// key gets an error of Redis. If the key has any other value, such as the hash of a
// Redisson lock, it is held by another kind of lock (distlock.ErrForeign), and the
// value stays unchanged.
//
// Beside the lock, in the same hash slot, are
//
//   - {key}:fence, a string "first last holder released": the tokens that were
//     minted for the last holder, and who released last. It is kept for 15
//     minutes after the last use. This costs about 280 bytes of memory for a key
//     that is not held: 1,000 new keys a second need 250 MB.
//   - {key}:queue, a sorted set of who waits, "inbox:owner" by ticket; behind the
//     owner is " r" if that is a reader, and " p3" if it wants one of three permits.
//     The ticket is the server's time of arrival. It is kept for a minute after the
//     last look of the last waiter.
//
// # Protocol
//
// Every operation is one script, so that it happens as a whole, and can be
// repeated, so that a lost reply does no harm.
//
// To acquire: an owner that has the key gets it again, with the same tokens. A
// free key without a queue, or with this owner at its head, is taken. In all
// other cases the owner queues if it wants to wait.
//
// To release: the key is deleted if the owner has it. If somebody waits, the head
// of the queue is taken off, the key is written for it for the time of a claim
// window, and a message goes to the inbox of its process, which claims the key by
// acquiring it in the ordinary way. So a release wakes one process in the whole
// fleet, however many wait.
//
// There is one queue for all. Readers and permits are let in beside those who are
// in, as far as they may be, but never past one who waits: so readers that keep
// coming do not starve a writer. When a lock is passed on and a reader is first,
// the readers behind it come in with it, up to the first who is none, sixteen at a
// time; as many permits are passed on as are free. Each gets a claim window and a
// message of its own. Readers and permits keep each other out. How many permits
// there are is what each asks for: they should all ask for the same.
//
// Messages save time and nothing else. Whoever waits also looks when the lease of
// the holder ends, when its Backoff says so, every twenty seconds, and when its
// inbox was connected again; if it finds the key free and others before it, it
// passes the key on to the first of them. A waiter that has died costs those
// behind it one claim window, and the first of them one such look.
//
// A reader that dies keeps a writer waiting until its lease ends: who waits for
// several looks when the first of their leases ends.
//
// To renew: up to 256 leases share a script, in a Cluster a pipeline for each
// node. A lock that is gone is never created anew.
//
// An attempt to acquire that was given up may reach the server after the release
// of its owner, from a connection that was stuck. The fence remembers who has
// released last, and up to sixteen owners who gave up while an attempt was on
// its way; the server refuses those. So an owner is good for one acquisition.
//
// # Guarantees, and on what condition
//
// At most one owner has a key, as long as Redis keeps its data. It may lose some:
// in a failover to a replica that was behind, in a restart without an append-only
// file, by eviction. Then two may hold one lock until the first learns it by its
// next renewal. Set maxmemory-policy to noeviction: the Backend looks at it once
// and logs a warning. [WithWaitReplicas] makes a lock known to replicas before it
// counts as acquired. A go-redis Ring moves keys when one of its servers is down;
// it works, by polling, but excludes nobody at such a moment.
//
// Tokens rise with every grant of a key, also over the loss of all data, because
// they are taken from the server's clock where the counter is gone. They repeat
// only if the counter is lost and the clock is also set back behind the last
// token.
//
// An operation returns when its context ends, and after the operation timeout in
// any case, whatever the timeouts of the client are and even if the client is
// stuck. The error contains the address of the server and why it did not answer: when
// half of the time has passed, the Backend opens a separate connection with the
// client's Dialer, sends a PING and closes the connection, one at a time for each
// server. It cannot do this with clients that are not go-redis' own. Hooks of the client
// must not block.
//
// A server that is out of memory refuses new locks; those that exist can be
// renewed, passed on and released.
//
// In a Cluster a server that is down or hangs costs the locks of its own slots
// only. If a master dies, the others are asked at once who takes its place. While
// a slot moves and the keys of one lock are in two places, Redis lets nobody use
// them: calls are repeated until the operation timeout.
//
// # Access control
//
// These ACL rules are enough for locks with the prefix "shop:".
//
//	resetkeys ~shop:* ~{shop:*}:fence ~{shop:*}:queue
//	resetchannels &distlock:inbox:*
//	-@all +eval +evalsha +get +mget +exists +set +del +pexpire +pttl +zadd +zrem
//	+zrange +zscore +zcard +zremrangebyscore +publish +time +subscribe +ping +hello
//	+client|setname +info +type
//
// The commands zscore, zcard and zremrangebyscore are for shared locks and permits;
// [WithWaitReplicas] needs wait. Inspection needs scan, zcount and zrangebyscore too; a SCAN sees the names of all
// keys. Without subscribe those who wait poll; without ping a dead inbox is noticed
// later; without info there is no warning about eviction, and Ping does not notice a
// replica; without type no error names the type of a foreign lock. In a Cluster add
// +cluster|slots, and +command to keep go-redis from logging that it lacks it.
package redislock
