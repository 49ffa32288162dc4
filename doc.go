// Package distlock is @DistributedLock for Go: functions run under locks that hold across
// machines. It makes the key, takes the lock, renews it, cancels the function's context if
// the lock is lost, and releases it.
//
//	locker := distlock.New(redislock.New(rdb, redislock.Config{}), distlock.Config{})
//	defer locker.Close()
//
//	pay := distlock.Wrap(locker, svc.Pay, distlock.Opts{
//		Prefix: "shop:", Value: "pay",
//		ParamLock: true, // the request takes part in the key
//	})
//	receipt, err := pay(ctx, PayRequest{OrderID: 42})
//
// [Wrap] locks a function of one request, [Call] and [Locker.Do] any other,
// [Locker.Acquire] what cannot be a function. [Locker.DoAll] takes several keys,
// [Locker.Lead] elects a leader. Packages httpmw and grpcmw lock routes and methods;
// backend/... has stores, and memlock for tests. Packages driver and locktest are for
// authors of stores.
//
// # Guarantees
//
//   - At most one holder per key, according to the backend; with Permits, that many; with
//     Mode [Shared], any number of readers and no writer beside them.
//   - The holder's context is cancelled, with cause [ErrLost], before the backend may
//     grant the key to another. This needs a process that runs, and clocks that tick at
//     the same rate, within 1 % of the lease.
//   - Every lease has its own fencing token, under the conditions of the backend: see
//     [Lease.Token].
//   - A release never removes another owner's lock.
//   - Once faults have healed, a waiter waits at most until its context ends, or for the
//     rest of the lease and one RetryInterval for each place before it.
//   - A crash blocks a key for at most KeyTimeout.
//   - In one process, holders of one Locker that exclude each other never overlap, even
//     after a loss: the next one waits until the function has returned.
//   - Without the lock the function does not run.
//
// # What it does not guarantee
//
// No lock with a lease excludes a paused holder: after a pause of the garbage collector,
// a debugger or the machine, its process goes on without knowing that its time is over.
// Only a resource that checks is safe: set Fencing, give the resource the [Lease.Token],
// and let it refuse tokens smaller than the largest it has seen.
// [Lease.Check] right before a commit makes the window small, but does not close it;
// [Lease.Step] makes this check and undoes work that came too late. If a Redis fails over to
// a replica that does not have the lock, the lock is gone. Tokens stay ordered.
//
// # Choosing times
//
// KeyTimeout does not limit the function, because the watchdog renews the lease. It is
// how long others wait after a crash, and how long the store may fail before the lock is
// lost. The default of ten seconds suits both; below one second, a slow network or a
// busy processor costs locks.
//
// A call waits until it has the lock. MaxWait limits the wait alone, a deadline of the
// context also the work; RetryCount 1 does not wait. A release wakes the next waiter, so
// waiting adds no latency, except with a backend that is no [driver.Waker]: it is
// asked every RetryInterval. So is any backend while a client of another library, which sends
// no message, has the key. Nested calls of Do can wait for each other forever if their order
// differs; [Locker.DoAll] takes its keys in one order.
//
// # Goroutines
//
// The function's context carries the lease: code that locks the same key below it
// re-enters at once, or gets [ErrUpgrade] if the holder has less than it asks for. A
// goroutine that may outlive the call uses [Detach]. A re-entry excludes nobody below the
// same holder: two goroutines of one call that lock its key are both inside.
// [Opts].Reentry can refuse the second one, or every one.
//
// A lease does not travel over the network: a locked call that makes a remote call for the
// same key waits for itself, until a deadline or MaxWait. Lock in only one of the two places,
// or call within the process.
package distlock
