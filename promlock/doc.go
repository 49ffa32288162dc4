// Package promlock is a Prometheus collector for the locks of a [distlock.Locker].
//
//	locks := promlock.New()
//	prometheus.MustRegister(locks)
//	locker := distlock.New(backend, distlock.Config{Hooks: locks.Hooks()})
//
// [distlock.JoinHooks] adds other hooks.
//
//	distlock_wait_duration_seconds  histogram  name, mode, outcome  from the call to the lock, or to the failure to get it
//	distlock_hold_duration_seconds  histogram  name, mode, outcome  from the acquisition to the release or loss
//	distlock_renewals_total         counter    name, mode, outcome  renewals of leases, and failures to renew them
//	distlock_losses_total           counter    name, mode           leases that ended before their release
//	distlock_waiting                gauge      name, mode           acquisitions under way
//	distlock_held                   gauge      name, mode           locks held
package promlock
