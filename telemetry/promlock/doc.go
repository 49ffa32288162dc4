// Package promlock is a Prometheus collector for the locks of a [distlock.Locker].
//
//	locks := promlock.New()
//	prometheus.MustRegister(locks)
//	locker := distlock.New(backend, distlock.Config{Hooks: locks.Hooks()})
//
// [distlock.JoinHooks] adds other hooks.
//
// # Metrics
//
//	distlock_wait_duration_seconds  histogram  name, mode, outcome  from the call to the lock, or to the failure to get it
//	distlock_hold_duration_seconds  histogram  name, mode, outcome  from the acquisition to the release or loss
//	distlock_renewals_total         counter    name, mode, outcome  renewals of leases, and failures to renew them
//	distlock_losses_total           counter    name, mode           leases that ended before their release
//	distlock_waiting                gauge      name, mode           acquisitions under way
//	distlock_held                   gauge      name, mode           locks held
//
// The labels are distlock_name, distlock_mode and distlock_outcome:
//
//   - The name is Prefix + Value of [distlock.Opts], or "unnamed"; never the key, because
//     callers choose keys. A program has few names. If it makes them of requests by mistake,
//     those after the first 1,000 combinations of name and mode count as "other".
//   - The mode is exclusive, shared or permits, as the caller asked for it.
//   - The outcome of a wait is acquired (from the store), handed_over (from a holder in this
//     process, or shared with one), reentered, or the text of [distlock.CodeOf]:
//     not_acquired, unavailable, queue_full and others. So the count of the histogram is the
//     number of acquisitions by outcome.
//   - The outcome of a hold is released, lost, or the code of the release that failed.
//   - The outcome of a renewal is renewed or failed.
//
// A re-entry has a wait, and no hold. Each reader of a shared lease and each key of a
// DoAll counts as a lock; a renewal of a shared lease counts for each reader. A hold
// ends when the lease is lost, even if it is released later or never. The key that
// MinHold keeps is not held. [distlock.Lease.Refresh] is not a renewal.
//
// The metrics are about this process. Summed over all processes, distlock_waiting is the
// length of the queue of all locks with the name; the queue of one key is in
// [github.com/distlock-go/distlock/admin.Inspect]. Counters and gauges of a name begin with 0
// at its first acquisition, so that the first loss is an increase.
package promlock
