// Package redislock keeps distlock's locks in Redis: on one server, on a master
// that Sentinel watches, or in a Cluster, through the application's own go-redis
// client.
//
//	rdb := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
//	locker := distlock.New(redislock.New(rdb, redislock.Config{}), distlock.Config{})
//	defer locker.Close()
//
// It needs Redis 5 or newer. go-redis writes a line to stderr for each connection that
// fails. In an outage these hide the error of the lock. Disable of its package
// [github.com/redis/go-redis/v9/logging] turns them off for the whole program.
//
// # Keys
//
// An exclusive lock is one string key. Its value is "owner token": the owner, and the
// number with sixteen digits that it got as its fencing token; or "owner ~number", if a
// plain attempt took the lock, with a number that is a little smaller. The key expires
// with the lease (SET key value PX ttl). Other libraries use a string that expires,
// too: bsm's redislock, redsync, common Spring aspects, Spring Integration, ShedLock,
// and lock4j if it uses a RedisTemplate, not Redisson. So this package treats their
// locks as held, and they treat the locks of this package as held. What waiting clients
// of theirs may expect is under "Mixed fleets" below.
//
// A shared lock has several holders: readers ([driver.Shared]), or holders of permits.
// It is a sorted set at the same key. Its members are "r owner" or "p owner". The score
// of a member is the time at which its lease ends, in microseconds of the server's
// clock. The key expires with the last lease. No other library gets a key that is
// shared. One that only sends SET NX treats it as held; one that also reads the key
// fails with an error of Redis (WRONGTYPE), among them Spring Integration, and common
// aspects when they release.
//
// If the key has any other value, such as the hash of a Redisson lock, it is held by a
// lock of another kind (distlock.ErrForeign), and the value stays unchanged.
//
// A key may have a hash tag, such as {order}:1, as Java programs name locks in a
// Cluster.
//
// A lock that is free and that no request waits for has no key. Two more keys are in
// its hash slot while they are needed. If the key has a hash tag, their names begin
// with the tag, such as {order}{{order}:1}:queue. A key that is named like these keys
// of a lock without a tag, such as {a}:queue, cannot be a lock.
//
//   - {key}:queue is a sorted set of the waiters: "inbox:owner", scored by ticket. The
//     owner is followed by " r" for a reader, and by " p3" for a waiter that asks for one
//     of three permits. The ticket is the server's time of arrival. The queue is kept for
//     a minute after the last attempt of the last waiter.
//   - {key}:gone is a sorted set of tombstones: owners that were released while an attempt
//     was in doubt. ForceRelease adds the owner that it takes the lock away from, and a name
//     of its own. The set is kept for 15 minutes after the last of them.
//
// Each server has one more key for all its locks: distlock:clock, the last token that
// the server issued. It does not expire, and a lock cannot have this key.
// [Config].Clock gives it another name. In a Cluster a script may use keys of one slot
// only, so there is one such key for each slot that has had a lock, with a tag in its
// name, such as distlock:clock:{m2k}: at most 16384 of them, of about a hundred bytes.
//
// # Protocol
//
// Every operation is one script, and so atomic. Only a program that locks often tries an
// exclusive key that it thinks is free with plain commands: see docs/adr/0004-batching.md.
// How tokens are made is in docs/adr/0002-tokens-are-times.md.
//
// Acquire: a free key is taken if there is no queue, or if this owner is at the head of
// the queue. In all other cases the owner is queued if it wants to wait. An owner that
// has the key gets it again: with the same token if the lock is exclusive, otherwise
// with a new one.
//
// Release: the key is deleted if the owner has it. If there are waiters, the script
// removes the head of the queue, grants the key to it for the time of a claim window,
// and sends a message to the inbox of its process. So a release wakes one process,
// however many wait.
//
// The message contains the tokens and is the grant: the function of the waiter starts
// at once, and the first renewal, after a third of what is left of the window, claims
// the key for the whole lease. The message may be late, so the waiter counts the claim
// window from its last attempt, which was refused. If half of the window has passed
// since then, or if replicas have to confirm the lock, the waiter claims the key by
// acquiring it before the function starts.
//
// There is one queue for all kinds of requests. A reader or a holder of a permit may
// join the present holders, but never overtakes a waiter. So a stream of readers does
// not starve a writer. If a reader is at the head of the queue when the lock is
// granted, the readers behind it are granted the lock with it, up to the first other
// request, at most sixteen at a time. Permits are granted to as many waiters as there
// are free permits. Each of them gets a claim window and a message of its own. Readers
// and holders of permits exclude each other. Each request says how many permits there
// are; all should say the same.
//
// Messages only save time. A waiter also makes an attempt when the lease of the holder
// ends, every twenty seconds, and when its inbox was connected again. If it finds the key
// free and other waiters before it, it grants the key to the first of them. A waiter that
// has died delays the waiters behind it by one claim window and by the time until the next
// attempt of the first of them.
//
// A reader that has died delays a writer until its lease ends. A waiter makes an
// attempt when the first lease of several holders ends.
//
// Renew: up to 256 leases share a script, and in a Cluster a pipeline for each server.
// A lock that is gone is never created anew.
//
// Every command is sent once by go-redis, whatever MaxRetries of the client is, and an
// owner is good for one acquisition: see docs/adr/0003-tombstones.md.
//
// What is wrong with one lock, such as a key with a value of another type or a key that
// the user may not access, fails the requests for this lock alone, although they share
// scripts with others.
//
// # Mixed fleets
//
// Clients of other libraries wait for a key by polling, and are in no queue. As long as a
// user of this package always waits, the key is passed on and never free for them, if
// that is for hours. The other way round, a waiter of this package polls every
// RetryInterval while another library has the key, and gets it after a few intervals.
//
// [Config].FreeRelease gives such clients a chance: a release then leaves the key free,
// and the first waiter is told to make an attempt. Hand-overs inside a process stay as
// they are. The processes can get the option one by one.
//
// Revoke sends a message to each holder, in a channel that begins like the inboxes. It
// may be lost. ForceRelease sends it, too, and a holder that listens renews at once.
//
// # Connections
//
// A Backend has connections of its own to each server, so that an application that uses
// up the pool of its client, for example with blocking commands, loses no lease. All
// that is done with a lock uses them; inspection has four more. They are made when they
// are needed: one or two to a server nearby, and up to sixteen to a distant one with
// many callers. They have the options of the client: address, dialer, TLS, credentials,
// database, name, OnConnect. They have neither its hooks nor its Limiter, cache and
// maintenance notifications. If none of them is free within half of the operation
// timeout, the request goes through the client.
//
//   - With Sentinel, these connections follow the master: the Sentinels are asked for it
//     with each new connection, and no connection is used for more than a second. It is used
//     for up to ten seconds while a Sentinel does not answer. Then all are asked, and go-redis
//     waits for each of them, for the ReadTimeout of its client: 3 s by default.
//   - In a Cluster, each server has such connections.
//   - With a Ring, and with a client of a type that is not one of go-redis, there are none:
//     all requests use the client. A client whose hooks must see all commands, for example
//     because they change keys, can be embedded in such a type. Scripts are sent
//     by its Process and Pipeline: a type that overrides Eval or EvalSha does not see them.
//
// After a request to a server nearby, such a connection asks for the answer for up to
// 60 µs before it sleeps, because an idle processor wakes up more slowly. One with TLS
// does not.
//
// A load balancer, a NAT gateway or a machine that is switched off may forget
// connections without a word. So a connection that was idle for a second is asked for
// an answer to PING before it is used. If there is none for a quarter of the operation
// timeout, connections that were idle for as long are not used either, and the request takes
// a new one.
//
// A process with waiters has one more connection, for its inbox.
//
// A [redis.Client] must lead to one server. The first acquisition and Ping ask once, in
// one more round trip: a script writes keys, and plain commands read them. If the
// answers differ, for example behind a proxy that spreads keys over several servers or
// reads from replicas, all acquisitions fail with an error that says so.
//
// # Guarantees and their conditions
//
// At most one owner has a key, as long as Redis loses no data. It may lose data in a
// failover to a replica that was behind, in a restart without an append-only file, and
// by eviction. Then two owners may hold one lock, until the first learns of the loss
// from its next renewal. Set maxmemory-policy to noeviction: the Backend checks this
// once and logs a warning. With [Config].WaitReplicas, a lock counts as acquired only
// after replicas have it. A go-redis Ring moves keys to other servers when one of its
// servers is down. A Ring can be used, its waiters poll, but it does not exclude other
// owners at such a moment.
//
// Each grant of a key has larger tokens than all grants before, even if the server's
// clock is set back, and even after the loss of all data, because a lost distlock:clock
// is replaced by the server's time. A token is repeated only if distlock:clock is lost
// and the server's time is also behind the last token. While two masters serve, as in
// some failovers, tokens that different programs get in the same 20 ms may also be out
// of order. If distlock:clock has a value that is not a token, no lock is granted until
// it is deleted.
//
// An operation returns within 50 ms after its context ends, and after the operation
// timeout in any case, whatever the timeouts of the client are and even if the client
// is stuck: in its Dialer, OnConnect, sources of credentials, or hooks. Two things must
// not block: the logger of go-redis, and a connection of the Dialer, which must obey
// deadlines. The error contains the address of the server and why it did not answer. To
// find the reason, the Backend opens a separate connection with the client's Dialer
// when half of the time has passed, sends a PING and closes the connection. It does so
// for one operation at a time on each server, and only with clients of go-redis itself.
//
// A server that is out of memory refuses new locks. Existing locks can be renewed,
// granted to waiters and released.
//
// In a Cluster, a server that is down or does not answer affects only the locks of its
// own slots. If a master dies, the Backend asks the other servers at once for its
// successor. While a slot moves, Redis refuses scripts of keys that are on two servers or
// not there: operations are repeated until the operation timeout, and renewals go on.
//
// # Access control
//
// These ACL rules are sufficient for locks with the prefix "shop:".
//
//	resetkeys ~shop:* ~{shop:*}:queue ~{shop:*}:gone ~distlock:clock*
//	resetchannels &distlock:inbox:*
//	-@all +eval +evalsha +get +mget +getset +incrby +exists +set +del +pexpire +pttl +zadd
//	+zrem +zrange +zscore +zcard +zremrangebyscore +publish +time +subscribe +ping +hello
//	+client|setname +info +type
//
// If there are hash tags in keys with that prefix, as in shop:{42}, add
// ~{*}{shop:*}:queue and ~{*}{shop:*}:gone. If the prefix begins with a hash tag, as in
// {shop}:, these two patterns are ~{shop}{{shop}:*}:queue and ~{shop}{{shop}:*}:gone.
//
// These rules separate keys, not tokens: the user may write distlock:clock, and so can
// end the order of tokens and stop all locks of the server. Programs that do not trust
// each other need a clock each. With Config.Clock "shop:clock" in all programs that
// lock keys with this prefix, and ?clock=shop:clock in the URLs of the command, leave
// ~distlock:clock* out: the pattern of the prefix permits that clock. No rule separates
// load: whoever may run a script can keep the server busy.
//
// [Config].WaitReplicas also needs wait. Inspection and Revoke also need scan, zcount
// and zrangebyscore; SCAN shows the names of all keys. Without getset or incrby, to
// acquire a lock takes the server longer. Without publish or subscribe, waiters poll. Without
// ping, a dead connection of the inbox is noticed later. Without info, there is no
// warning about eviction. Without type, errors do not contain the type of a foreign
// lock. In a Cluster add +cluster|slots, and +command, because without it go-redis logs
// warnings.
package redislock
