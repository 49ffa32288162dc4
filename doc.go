// Package distlock is @DistributedLock for Go: declare that a function runs
// under a lock that holds across machines, and the kit builds the key from the
// parameters, takes the lock, keeps it alive, tells the code when it is lost,
// and gives it back.
//
//	locker := distlock.New(redislock.New(rdb), distlock.Config{})
//	defer locker.Close()
//
//	pay := distlock.Wrap(locker, svc.Pay, distlock.Opts{
//		Prefix: "shop:", Value: "pay",
//		ParamLock: true, // the request takes part in the key
//	})
//	receipt, err := pay(ctx, PayRequest{OrderID: 42})
//
// [Wrap] locks a function of one request, [Call] and [Locker.Do] any other,
// [Locker.Acquire] what cannot be a function; [Locker.Lead] elects a leader.
// Packages httpmw and grpcmw lock HTTP routes and gRPC methods. Stores are in
// backend/...; the policy is here and is the same for all of them.
//
// # Guarantees
//
//   - At most one holder per key, according to the backend; with Mode [Shared] any
//     number of readers but no writer beside them, with Permits so many.
//   - The holder's context is cancelled, with cause [ErrLost], before the backend
//     may grant the key to another, as long as the process runs and clocks tick
//     at the same rate, within 1 % of the lease.
//   - Every lease has its own fencing token ([Lease.Token]), and the tokens of a key
//     rise from lease to lease. Among leases that may be held at the same time, the
//     order means nothing. The backend's documentation states the conditions.
//   - A release never removes another owner's lock.
//   - Once faults heal, no waiter waits longer than the least of its context's
//     end, and the time left of the present lease plus one RetryInterval for
//     each place before it in the line.
//   - A crash blocks a key for at most KeyTimeout.
//   - Inside one process two holders of one Locker that exclude each other never
//     overlap, even after a loss: the next one waits until the function has
//     returned.
//   - Without the lock the function does not run.
//
// # What it does not guarantee
//
// No lock of this kind, whosever it is, excludes a holder whose process was
// paused: by the garbage collector, a debugger, a suspended machine. It wakes
// up, does not know yet that its time is over, and writes. Only a resource that
// checks is safe: give it [Lease.Token] and let it refuse tokens smaller than
// the largest it has seen, and set Fencing so that there is one. [Lease.Check]
// right before a commit makes the window small, it does not close it;
// [Lease.Step] does it for you, and undoes what came too late.
//
// A lock in a Redis that fails over to a replica which had not heard of it is
// gone. Tokens stay ordered all the same.
//
// # Choosing a lease
//
// KeyTimeout is not how long the function may run: the watchdog renews the
// lease for as long as it runs. It is how long the others wait after a crash,
// and how long the store may be out of reach before the lock is lost. Ten
// seconds, the default, is a good answer to both; below one second, a slow
// network or a busy processor costs locks. Set MaxHold to stop a function that
// hangs from holding its key for ever.
//
// MinHold is for jobs that every machine starts by its own clock and one is to
// run: the first takes the key, and it stays for a while after the job is done.
// With RetryCount 1 the others skip. It should be longer than the clocks differ
// and shorter than the period.
//
// # Waiting
//
// A call waits until it has the lock or its context ends. A release wakes the next
// waiter, so waiting adds no latency, except with a backend that is not a [driver.Queuer].
// Three options control the wait:
//
//   - MaxWait limits the time to wait for the lock, however long the work takes
//     afterwards. A deadline of the context limits both.
//   - RetryCount 1 does not wait: another caller is doing the work already. Other
//     values count attempts; RetryInterval determines how long these take.
//   - RetryInterval is how often a waiter checks the key itself, in case a message
//     was lost or the backend sends none.
//
// # Readers and permits
//
// With Mode [Shared] a function runs beside others that read, and never beside one
// that takes the same key as [Exclusive], the default. The line is one for both: a
// reader that comes after a writer waits behind it. In one process readers ride on
// one lease in the store, so many readers cost it few requests: as long as nobody
// else waits in the process, for [Config].HandOverTime, for [Config].HandOvers
// readers, and while the lease has room. Each has a token of its own. When the lease
// is lost all of them are told. A reader for whom there is no room takes another
// lease beside the first, in its turn.
//
// Permits makes the key a semaphore: each holder has a lease and a token of its
// own. The tokens of readers and of holders of permits lie between the tokens of the
// writers before and after them. Among themselves they are in no order, because a
// lease that is handed over or shared within a process has an older token than the
// leases that other processes acquired in the meantime. A resource that accepts only
// the largest token would refuse legitimate holders anyway.
//
// Code below a holder re-enters if the holder has what it asks for: reading below
// writing, but not writing below reading, nor anything else below a permit. That is
// [ErrUpgrade] at once.
//
// # Several keys
//
// [Locker.DoAll] and [Locker.AcquireAll] take several keys, all or none, in one
// order for everybody: code that nests one Do in another in the order of its
// arguments waits for ever as soon as a second caller has them the other way round.
//
// # Operation
//
// [Locker.Inspect] lists who holds and waits for what, and [Locker.ForceRelease]
// takes a key from a holder that is stuck, which breaks the second guarantee above.
//
// # Errors
//
// The errors of a lock are an [*Error], which names the operation and the key, and may
// suggest when to try again. More than one thing may be true of it: the lock was not
// acquired, and the backend is down. [CodeOf] returns the one code that counts;
// [errors.Is] asks for one thing. A function's own error is never replaced; the error of
// the lock is joined behind it.
//
// # Goroutines
//
// The lease travels in the context that the function is given. Code below it
// that locks the same key re-enters at once. A lease does not travel over the
// network: a locked call that makes a remote call for the same key waits for itself,
// until a deadline or MaxWait, and the error says that this process holds the key.
// Lock in only one of the two places, or call within the process and pass the
// context. A goroutine that may outlive the call takes [Detach](ctx) instead; with the
// call's own context it would get ErrLost, never silently a lock of its own.
package distlock
