package lockmetrics

import (
	"context"
	"sync/atomic"

	"github.com/distlock-go/distlock"
)

// acquisition is the context that Start returns: the context of the caller, and what the later
// hooks must know of the acquisition.
type acquisition struct {
	context.Context //nolint:containedctx // it is one itself

	metrics *Metrics
	series  *Series
	phase   atomic.Int32
}

// The phases of an acquisition and its lease.
const (
	waiting int32 = iota
	held
	over // lost or released
)

// Value returns a for the key of its hooks: other hooks may be above and below.
func (a *acquisition) Value(key any) any {
	if k, ok := key.(*Metrics); ok && k == a.metrics {
		return a
	}
	return a.Context.Value(key)
}

// Hooks returns the hooks that measure, for the Config of one or more Lockers.
//
// What Start has counted ends in the same series, whatever happens: a re-entry may have
// another mode than was asked for, and Lost may come before Acquired, before or after
// Released, or without it.
func (m *Metrics) Hooks() distlock.Hooks {
	of := func(ctx context.Context) *acquisition {
		a, ok := ctx.Value(m).(*acquisition)
		if !ok {
			panic("distlock: a Start hook returned a context that does not derive from its own")
		}
		return a
	}
	return distlock.Hooks{
		NoWaiting: true,
		Start: func(ctx context.Context, e distlock.Event) context.Context {
			a := &acquisition{Context: ctx, metrics: m, series: m.of(&e)}
			a.series.Waiting.Add(1)
			return a
		},
		Event: func(ctx context.Context, e distlock.Event) {
			switch a := of(ctx); e.Kind {
			case distlock.Acquired:
				a.waited(&e)
				if !e.Reentrant && a.phase.CompareAndSwap(waiting, held) { // otherwise it was lost meanwhile
					a.series.Held.Add(1)
				}
			case distlock.Failed:
				a.waited(&e)
			case distlock.Renewed:
				if e.Err == nil {
					a.series.Renewed.Add(1)
				} else {
					a.series.Failed.Add(1)
				}
			case distlock.Lost, distlock.Released:
				if !e.Reentrant {
					a.end(&e)
				}
			case distlock.Waiting: // Start counts it
			}
		},
	}
}

// waited counts the end of the acquisition.
func (a *acquisition) waited(e *distlock.Event) {
	a.series.Waiting.Add(-1)
	a.series.waits.observe(a.Context, a.series, e.Wait, OutcomeOf(e))
}

// end counts the end of the lease, unless it has ended already.
func (a *acquisition) end(e *distlock.Event) {
	phase := a.phase.Swap(over)
	if phase == over {
		return
	}
	if phase == held {
		a.series.Held.Add(-1)
	}
	o := OutcomeOf(e)
	a.series.holds.observe(a.Context, a.series, e.Held, o)
	if o == Lost {
		a.series.Losses.Add(1)
	}
}
