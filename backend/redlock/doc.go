// Package redlock keeps distlock's locks on a quorum of independent Redis masters, so
// that a lock survives the loss of any minority of them.
//
//	locker := distlock.New(redlock.New(clients, redlock.Config{}), distlock.Config{}) // three or five, odd
//	defer locker.Close()
//
// The algorithm is Redlock, as redis.io describes it under "Distributed Locks with
// Redis". Martin Kleppmann has shown what it does not promise ("How to do distributed
// locking", 2016): a holder that was paused for longer than its lease may still write.
// Only a resource that checks tokens is safe from that. See [Config].Tokens.
//
// One Redis with package redislock is simpler, faster and fair. Here there is no queue:
// a release wakes all waiters by a message, and the fastest gets the key. Use this
// package if locks must survive the loss of a server, and there is neither ZooKeeper
// nor a database.
//
// It needs Redis 5 or newer. All locks are exclusive.
//
// # Keys
//
// On each node a lock is one string key that contains its owner, a space and the number
// of the attempt, and expires with its lease. Package redislock, redsync and others see
// the lock as held, and redlock sees theirs as held. In the same hash slot are, for a
// key without a hash tag (the names for a key such as {order}:1 begin with the tag:
// {order}{{order}:1}:token),
//
//   - {key}:token, "first last holder released", only with [Config].Tokens: the tokens that were
//     minted last. It is kept for 15 minutes after the last use, and for as long after the
//     clock of the node has passed the last of them.
//   - {key}:gone:owner, rarely: a tombstone. The owner has released while one of its
//     attempts had no reply, and the node refuses that attempt. It is kept for a minute, or
//     for the lease if that is longer. {key}:gone:owner#n is the tombstone of one failed
//     attempt.
//
// Each node has one more key, distlock:redlock:memory, "run_id µs": since when its data
// is complete. Do not delete it.
//
// # Protocol
//
// Each operation is one script on each node, on all nodes at once. It returns when a
// quorum has decided, and continues with the other nodes in the background. An attempt
// without a quorum is released everywhere. A renewal puts the lock again on nodes that
// count and where it is missing. The lock is lost when no quorum is left.
//
// # Clocks
//
// A lease counts from before the first node was asked. A node keeps the key for 1 % and
// 2 ms longer than the lease, because its clock may be fast; the [distlock.Locker]
// relies on a lease for 1 % and 2 ms less. So the rates of clocks may differ by 2 %.
// The clocks need not show the same time, except for tokens.
//
// # Nodes that come back
//
// A node that has lost its data may have lost a lock. It must not vote on a new lock
// before the lost one would have ended. So a node counts for acquisitions only when its
// data is as old as the longest lease ([Config].MaxLease, a minute) and its drift. The
// age of the data begins when a Backend first asks the node for a lock after its
// process was restarted (run_id), its marker was lost (FLUSHALL, a restart without
// persistence, a replica that was promoted), or its clock was set back. Restart one
// node at a time, and not two within a longest lease: a lock that a majority has lost
// is lost. A node that loses single keys, by eviction or DEL, is not noticed. Set
// maxmemory-policy to noeviction.
//
// The data of new nodes is not old enough either. On new nodes nothing can be locked
// for a longest lease after the first attempt, which fails with an error that says so.
// [Config].TrustedStart skips that. Use it if it is certain that no lock is held.
//
// # Tokens
//
// Without [Config].Tokens, tokens are zero, because the counters of independent nodes
// have no common order. With it, the next token is above all that the nodes which grant
// the lock have minted, and near the latest of their clocks. It is given out when a
// quorum has stored it that still has the lock for this owner. So tokens rise if no
// node loses its data, whatever the clocks show. If a node does, they rise if the
// clocks have differed by less than a longest lease: as long as the last tokens are
// further ahead of the clocks, do not let a node lose its data.
//
// # Messages
//
// A release publishes its owner on each node, and a waiter makes an attempt when a quorum
// has told of one release. A waiter that misses messages polls, as it does for the locks
// of other libraries. A process with waiters has one more connection to each node.
//
// # Access control
//
// These ACL rules are enough, on each node, for locks with the prefix "shop:". If there
// are hash tags in the keys, add ~{*}{shop:*}:token and ~{*}{shop:*}:gone:*.
//
//	resetkeys ~shop:* ~{shop:*}:token ~{shop:*}:gone:* ~distlock:redlock:memory
//	resetchannels &distlock:redlock:free:shop:*
//	-@all +eval +evalsha +get +set +del +exists +pexpire +pttl
//	+time +publish +subscribe +unsubscribe +ping +type +info +hello +client|setname
//
// Without publish or subscribe, or without the channels, waiters poll. Without
// unsubscribe a process goes on listening to channels that it has waited for. Without
// info a restart is noticed only if the data is gone. Without type an error does not
// name the type of a foreign lock.
package redlock
