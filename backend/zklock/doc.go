// Package zklock is a lock backend on ZooKeeper, 3.5 or later.
//
//	servers := []string{"zk1:2181", "zk2:2181", "zk3:2181"}
//	backend, err := zklock.New(servers, zklock.Config{})
//	if err != nil {
//		return err
//	}
//	locker := distlock.New(backend, distlock.Config{})
//	defer locker.Close() // closes the backend, too
//
// Each owner that asks for a key creates an ephemeral sequential node below the key's
// node. The owner of the node with the smallest number has the key. Every other owner
// watches the node in front of its own, so a release wakes exactly one waiter. A
// reader does not overtake a writer that waits. Adjacent readers at the head of the
// queue have the key together, and so do adjacent requests for permits.
//
// # Guarantees
//
// An owner is granted a key only if its node exists, is the first, and belongs to the
// session of the present connection, and only after the leader has answered. A server
// that is cut off from the others cannot grant a key. The lock of one session is never
// taken for the lock of another. If the reply to the creation of a node is lost, the
// node is found again by the owner's UUID in its name. If the owner has given up by
// then, the node is deleted in the background, and the deletion is repeated until it
// succeeds or the session ends.
//
// Fencing tokens are made of the ID of the transaction that created the node. They rise
// over sessions, restarts and leaders for as long as the ensemble keeps its data. After
// a restore from an old backup, tokens may repeat, and each program must start anew.
//
// # Leases and sessions
//
// ZooKeeper has sessions and no leases: it releases the locks of a process when it has
// heard nothing from it for the session's timeout. So this package grants no lease that
// is longer than half of the timeout that the server agreed to. A longer
// [distlock.Opts.KeyTimeout] is cut. The holder's context is then cancelled before the
// server can give the key to another owner, provided that the timeout is at least three
// of the server's ticks, which are 2 s by default.
//
// A lease that is not renewed is ended by this package, in the holder's process. If the
// process is gone, the lease ends with the session. So after a crash a key is blocked
// for the session's timeout, not for KeyTimeout.
//
// What MinHold keeps after the function outlives the process. The ephemeral node is
// replaced, in one transaction, by a persistent one with the same number, which blocks
// all recipes, too. Its data say for how long, by the servers' clock: if another server
// becomes the leader, the difference of their clocks counts. The process deletes the
// node at its end. If the process is gone, the next one that asks for the key with this
// package does; the recipes do not, and wait for that. Data that another program has
// written there, as Curator's Revoker does, end it.
//
// If a server is silent for half of [Config].OpTimeout, or does not carry out an
// operation in all of it and there are other servers, the connection is closed, and the
// next one continues the session.
//
// A short session timeout frees the locks of a dead process soon. A long one survives
// outages, elections and restarts. Servers allow two to twenty ticks by default.
//
// # Nodes
//
// The key's node is below the root, "/distlock" by default. [EscapeKey] returns its
// name. It is a container: the server deletes it some time after the last lock in it.
// The user needs the permissions to create, read, write and delete, on the root, too.
// Before the first lock, and in Ping, a node below the root is created, read, written
// and deleted once: an error names the permission that is missing.
//
// The data of an owner's node is the name of its holder ([distlock.Config.Holder]), for
// people. Data that another program has written there is shown as the name if it is
// printable and short.
//
// # Other programs
//
// The nodes have names that the recipes of Apache Curator, in Java, or of kazoo, in
// Python, order with their own. Which recipe shares a lock on the path of a key depends
// on the names:
//
//	MutexNames        Curator's InterProcessMutex, LeaderSelector; go-zookeeper's Lock
//	ReadWriteNames    Curator's InterProcessReadWriteLock: a read lock is shared
//	KazooNames        kazoo's Lock, WriteLock and ReadLock
//
// A lock that is shared has one queue in order of arrival for both sides. All processes
// that share it must choose the same names. Curator's Revoker and [admin.Revoke] ask the
// holders of both sides. Locks that are written by hand, with nodes named lock…, share the
// lock, too, if they look at all children. An owner that waits for one has no node
// meanwhile.
//
// A recipe sees no nodes but its own, and none sees the permits of this package. So while
// there are nodes that would ignore its own, such as nodes of another recipe, an ephemeral
// child with an unknown name, or "leases" of Curator's semaphores, no owner gets the key:
// the error wraps [driver.ErrForeign] and names the recipe or the node. If such a node
// comes while an owner has the key, both have the lock until the owner's next renewal,
// which ends the lease. Children that are not ephemeral are no locks.
//
// The sequence numbers of a key's node end at 2^31-1. If a key is never idle for long
// enough that its node is deleted, calls fail when the numbers are used up.
//
// [distlock.Opts.KeyTimeout]: https://pkg.go.dev/github.com/distlock-go/distlock#Opts
// [admin.Revoke]: https://pkg.go.dev/github.com/distlock-go/distlock/admin#Revoke
// [distlock.Config.Holder]: https://pkg.go.dev/github.com/distlock-go/distlock#Config
package zklock
