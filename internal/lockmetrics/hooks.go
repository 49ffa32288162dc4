package lockmetrics

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/distlock-go/distlock"
)

// Series has the measurements of the locks with one name and mode. Its methods are called
// concurrently.
type Series interface {
	Waiting(ctx context.Context, n int64) // n acquisitions more are under way, or fewer
	Held(ctx context.Context, n int64)    // n locks more are held, or fewer
	Waited(ctx context.Context, d time.Duration, o Outcome)
	HeldFor(ctx context.Context, d time.Duration, o Outcome)
	Renewal(ctx context.Context, o Outcome)
	Loss(ctx context.Context)
}

// acquisition is the context that Start returns: that of the caller, and what the later
// hooks must know of the acquisition.
type acquisition struct {
	context.Context //nolint:containedctx // it is one itself

	all    *seriesSet
	series Series
	phase  atomic.Int32
}

// The phases of an acquisition and its lease.
const (
	waiting int32 = iota
	held
	over // lost or released
)

// Value returns a for the key of its hooks: other hooks may be above and below.
func (a *acquisition) Value(key any) any {
	if k, ok := key.(*seriesSet); ok && k == a.all {
		return a
	}
	return a.Context.Value(key)
}

// Hooks returns hooks that call the methods of series, which make returns for each name and
// mode.
//
// What Start has counted ends in the same series, whatever happens: a re-entry may have
// another mode than was asked for, a lease may be lost before Acquired is called, and Lost
// may come before or after Released, or without it.
func Hooks(make func(name, mode string) Series) distlock.Hooks {
	all := newSeriesSet(make)
	of := func(ctx context.Context) *acquisition {
		a, ok := ctx.Value(all).(*acquisition)
		if !ok {
			panic("distlock: a Start hook returned a context that does not derive from its own")
		}
		return a
	}
	return distlock.Hooks{
		Start: func(ctx context.Context, i distlock.StartInfo) context.Context {
			a := &acquisition{Context: ctx, all: all, series: all.of(&i.LockInfo)}
			a.series.Waiting(ctx, 1)
			return a
		},
		Acquired: func(ctx context.Context, i distlock.AcquiredInfo) {
			a := of(ctx)
			a.series.Waiting(ctx, -1)
			switch {
			case i.Reentrant:
				a.series.Waited(ctx, i.Wait, Reentered)
				return
			case i.HandedOver:
				a.series.Waited(ctx, i.Wait, HandedOver)
			default:
				a.series.Waited(ctx, i.Wait, Acquired)
			}
			a.series.Held(ctx, 1)
			if !a.phase.CompareAndSwap(waiting, held) { // lost meanwhile
				a.series.Held(ctx, -1)
			}
		},
		Failed: func(ctx context.Context, i distlock.FailedInfo) {
			a := of(ctx)
			a.series.Waiting(ctx, -1)
			a.series.Waited(ctx, i.Wait, outcomeOf(i.Err))
		},
		Renewed: func(ctx context.Context, i distlock.RenewedInfo) {
			o := Renewed
			if i.Err != nil {
				o = Failed
			}
			of(ctx).series.Renewal(ctx, o)
		},
		Lost: func(ctx context.Context, i distlock.LostInfo) { of(ctx).end(ctx, i.Held, lost) },
		Released: func(ctx context.Context, i distlock.ReleasedInfo) {
			switch {
			case i.Reentrant:
			case i.Err != nil:
				of(ctx).end(ctx, i.Held, outcomeOf(i.Err))
			default:
				of(ctx).end(ctx, i.Held, Released)
			}
		},
	}
}

// end counts the end of the lease, unless it has ended already.
func (a *acquisition) end(ctx context.Context, d time.Duration, o Outcome) {
	switch a.phase.Swap(over) {
	case over:
		return
	case held:
		a.series.Held(ctx, -1)
	}
	a.series.HeldFor(ctx, d, o)
	if o == lost {
		a.series.Loss(ctx)
	}
}
