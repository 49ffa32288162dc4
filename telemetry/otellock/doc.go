// Package otellock measures and traces the locks of a [distlock.Locker] with OpenTelemetry.
//
//	locker := distlock.New(backend, distlock.Config{Hooks: otellock.Hooks()})
//
// [distlock.JoinHooks] adds other hooks. It uses the API of OpenTelemetry only: what is
// exported, where to and how often is set up in the program, with the SDK.
//
// # Metrics
//
//	distlock.wait.duration  histogram, s      name, mode, outcome  from the call to the lock, or to the failure to get it
//	distlock.hold.duration  histogram, s      name, mode, outcome  from the acquisition to the release or loss
//	distlock.renewals       counter           name, mode, outcome  renewals of leases, and failures to renew them
//	distlock.losses         counter           name, mode           leases that ended before their release
//	distlock.waiting        up-down counter   name, mode           acquisitions under way
//	distlock.held           up-down counter   name, mode           locks held
//
// The attributes are distlock.name, distlock.mode and distlock.outcome. Their values, and
// what counts how, are as in [promlock], which has the same families under the names that
// OpenTelemetry's Prometheus exporter makes of these.
//
// Give the hooks of one call of [Hooks] to all Lockers of a program: all but the histograms
// are observed when they are exported, once for each call.
//
// # Spans
//
// An acquisition has a span "acquire NAME", and its lease has a span "hold NAME" with a link
// to it. Both are children of the caller's span. So are the spans of the function that runs
// under the lock: its context carries the caller's span as before. A re-entry has no spans,
// and neither has a caller without a span: those would be traces of their own, which tell no
// more than the metrics.
//
// The attributes are as in the metrics, and distlock.key, distlock.permits of a
// semaphore, distlock.token, and distlock.holder, which is the holder that a failed
// acquisition named. The key is here and not in the metrics, because callers choose keys.
//
// A span that fails has an error as its status, and error.type, which is the text of
// [distlock.CodeOf]. A lock that was busy (not_acquired) is an answer, not an error. A wait of
// a second or more has events distlock.waiting, with distlock.holder and distlock.place as far
// as they are known, with each event of the kind Waiting, at most 16. A lease
// that is lost has the event distlock.lost, and its span ends then; each renewal that fails
// is an event distlock.renewal_failed with distlock.left, in seconds. A lease that is neither
// released nor lost before the program ends has no span "hold": a span is exported at its end.
//
// [promlock]: https://pkg.go.dev/github.com/distlock-go/distlock/telemetry/promlock
package otellock
