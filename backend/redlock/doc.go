// Package redlock keeps distlock's locks on a quorum of independent Redis
// masters, so that a lock survives the loss of any minority of them.
//
//	locker := distlock.New(redlock.New(clients), distlock.Config{}) // three or five, odd
//	defer locker.Close()
//
// The algorithm is Redlock, as redis.io describes it under "Distributed Locks
// with Redis". Martin Kleppmann has shown what it does not promise ("How to do
// distributed locking", 2016): it rests on bounded pauses and on clocks that keep
// rate, so a holder that was paused beyond its lease may still write, and only a
// resource that checks tokens is safe from that. See [WithTokens].
//
// One Redis with package redislock is simpler, faster and fair: nobody queues
// here, waiters poll with jitter. Use this package if locks must survive a lost
// server and nothing else, such as ZooKeeper or a database, is at hand.
//
// It needs Redis 5 or newer, and exclusive locks are all that it has.
//
// # Keys
//
// On every node a lock is one string key that holds its owner and ends with its
// lease: the record of package redislock, of redsync and others, which are seen
// as held and see it as held. If an attempt of the owner has failed before, a
// space and a number follow it. Beside it, in the same hash slot, are
//
//   - {key}:token, "first last holder released", with WithTokens only: the tokens
//     that were minted last. It is kept for 15 minutes after the last use.
//   - {key}:gone:owner, rarely: an owner that released while an attempt of it was
//     on its way to a node that did not answer, and who is refused there. It is
//     kept for a minute, or the lease if that is longer; {key}:gone:owner#n is
//     the same for one failed attempt.
//
// Each node has one key more, distlock:redlock:memory, "run_id µs": since when
// its data is complete. Do not delete it.
//
// # Protocol
//
// Every operation is one script on each node, on all nodes at once, and returns
// when a quorum has decided; it goes on with the rest in the background. A node
// is given the node timeout, far below the lease, whatever the timeouts of the
// client are. One that did not answer three times in a row is asked by one
// operation at a time.
//
// To acquire: an owner that has the key on a node gets it again. What was taken
// is kept if a quorum was reached, also by nodes that are late, and else is given
// back at once, so that rivals who have split the nodes between them find them
// free after their pauses, which differ.
//
// To renew: nodes that have the lock extend it. If a quorum did, it is put again
// on trusted nodes where it is missing. It is lost when so many nodes do not have
// it that no quorum is left.
//
// To release: on all nodes. A node that does not answer is asked again in the
// background, for as long as the lease may last there, and is told to refuse
// what comes late.
//
// # Clocks
//
// A lease counts from before the first node was asked. A node keeps the key for
// 1 % and 2 ms longer than the lease, for its clock may run faster than others;
// the [distlock.Locker] believes in a lease for 1 % and 2 ms less. So clocks may
// differ in rate by 2 % together. They need not show the same time, except for
// tokens.
//
// # Nodes that come back
//
// A node that has lost its data may have forgotten a lock, and must not vote on a
// new one before that would have ended. So a node votes on acquisitions only when
// its memory reaches back for the longest lease ([WithMaxLease], a minute) and
// its drift. Its memory begins when a Backend first asks it for a lock after its
// process was started anew (run_id) or its marker was lost (FLUSHALL, a restart
// without persistence, a replica that was promoted), or the clock was set back.
// Restart one node at a time, and not two within a longest lease: a lock that a
// majority has forgotten is lost. A node that loses single keys, by eviction or
// DEL, is not noticed; set maxmemory-policy to noeviction.
//
// New nodes have no memory either. So on a new fleet nothing can be locked for a
// longest lease after the first attempt, which fails with an error that says so;
// [WithTrustedStart] skips that where it is known that nobody holds anything.
//
// # Tokens
//
// Without WithTokens tokens are zero, because counters of independent nodes give
// no order. With it, the nodes that grant the lock say which token was minted
// last and what time it is; the next is above all of them and near the latest
// clock, and is written to a quorum, whose nodes must still have the lock for
// this owner, before it is given out. Any later quorum shares a node with that
// one. If that node has lost its counter since, or has an old one, it was not
// trusted for a longest lease, and the clocks have moved on: tokens rise as long
// as the clocks of the nodes differ by less than a longest lease.
//
// # Access control
//
// These ACL rules are enough, on every node, for locks with the prefix "shop:".
//
//	resetkeys ~shop:* ~{shop:*}:token ~{shop:*}:gone:* ~distlock:redlock:memory
//	resetchannels -@all +eval +evalsha +get +set +del +exists +pexpire +pttl
//	+time +type +info +hello +client|setname
//
// Without info a restart is noticed only if the data is gone, and without type the
// error for a lock of another kind does not name its type.
package redlock
