// Package zklock is a lock backend on ZooKeeper, 3.5 or later.
//
//	backend, err := zklock.New([]string{"zk1:2181", "zk2:2181", "zk3:2181"})
//	if err != nil {
//		return err
//	}
//	locker := distlock.New(backend, distlock.Config{})
//	defer locker.Close() // closes the backend, too
//
// Each owner that asks for a key has an ephemeral sequential node below the key's
// node. The one with the smallest number has the key, and each other waits for the
// one before it, so that a release wakes exactly one. It keeps the whole contract
// of [driver.Backend], [driver.Queuer], [driver.Extender],
// [driver.Inspector] and [driver.Pinger].
//
// # Guarantees
//
// An owner is granted a key only if its node is there, is the first, and belongs to
// the session of the present connection, and after the leader has confirmed it: a
// server that is cut off from the others can convince nobody. One session's lock is
// never taken for another's. If the reply to the creation of a node is lost, the
// node is found again by the owner's UUID in its name; if the owner has given up
// by then, the node is deleted in the background until that is certain, or until
// the session is over.
//
// Tokens are made of the ID of the transaction that created the node. They rise
// over sessions, restarts and leaders for as long as the ensemble keeps its data.
// Whoever restores it from an old backup must expect them to repeat.
//
// # Leases and sessions
//
// ZooKeeper knows sessions and no leases: it gives a process's locks away when it
// has heard nothing from it for the session's timeout. So no lease that this
// package grants is longer than half of the timeout that the server agreed to, and
// a [distlock.Opts].KeyTimeout above that is cut: the holder's context is then
// cancelled before the server can give the key to another. This holds while the
// timeout is at least three of the server's ticks, which are 2 s by default.
//
// A lease that nobody renews is ended by this package, in the process that holds
// it, or with the session if the process is gone. So a crash blocks a key for the
// session's timeout, not for KeyTimeout; and of MinHold nothing is left after it.
//
// A short session timeout frees the locks of a dead process soon; a long one
// outlasts pauses of the network, elections of a new leader, and restarts. The
// default of 20 s carries KeyTimeout's default of 10 s. Servers allow no less than
// two ticks and no more than twenty unless they are configured otherwise.
//
// # Nodes
//
// The key's node is below the root, "/distlock" by default, under the name that
// [EscapeKey] gives it. It is a container: the server deletes it some time after
// the last lock in it. With [WithDigest] everything belongs to that user; with
// [WithACL] to whom you say. The permissions create, read, write and delete are
// needed, on the root, too.
//
// The data of an owner's node is the name of its holder ([distlock.Config].Holder), for
// people. The data that another program has written there is shown as the name if it
// is printable and short.
//
// # Curator
//
// The nodes are named as Apache Curator's. A program that uses its
// InterProcessMutex on the key's path shares the lock; with [WithReadWriteNames],
// one that uses its InterProcessReadWriteLock. All must then ask for exclusive and
// shared locks in the same way. Permits are in the same line as other locks, which
// they exclude, and under names of their own: they are not shared with Curator's
// InterProcessSemaphoreV2, which knows neither.
//
// The sequence numbers of a key's node end at 2^31-1. If a key never rests for long
// enough that its node is deleted, calls fail when they are used up.
package zklock
