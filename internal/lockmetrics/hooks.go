package lockmetrics

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/distlock-go/distlock"
)

// Series has the measurements of the locks with one name and mode. Its methods are called
// concurrently. They get the context of the caller of the acquisition.
type Series interface {
	Waiting(n int64) // n acquisitions more are under way, or fewer
	Held(n int64)    // n locks more are held, or fewer
	Waited(ctx context.Context, d time.Duration, o Outcome)
	HeldFor(ctx context.Context, d time.Duration, o Outcome)
	Renewal(o Outcome)
	Loss()
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

// Hooks returns hooks that call the methods of series, which newSeries returns for each
// name and mode.
//
// What Start has counted ends in the same series, whatever happens: a re-entry may have
// another mode than was asked for, and Lost may come before Acquired, before or after
// Released, or without it.
func Hooks(newSeries func(name, mode string) Series) distlock.Hooks {
	all := &seriesSet{newSeries: newSeries}
	of := func(ctx context.Context) *acquisition {
		a, ok := ctx.Value(all).(*acquisition)
		if !ok {
			panic("distlock: a Start hook returned a context that does not derive from its own")
		}
		return a
	}
	return distlock.Hooks{
		Start: func(ctx context.Context, i distlock.LockInfo) context.Context {
			a := &acquisition{Context: ctx, all: all, series: all.of(&i)}
			a.series.Waiting(1)
			return a
		},
		Acquired: func(ctx context.Context, i distlock.AcquiredInfo) {
			a := of(ctx)
			a.series.Waiting(-1)
			a.series.Waited(a.Context, i.Wait, OfAcquired(&i))
			if !i.Reentrant && a.phase.CompareAndSwap(waiting, held) { // otherwise it was lost meanwhile
				a.series.Held(1)
			}
		},
		Failed: func(ctx context.Context, i distlock.FailedInfo) {
			a := of(ctx)
			a.series.Waiting(-1)
			a.series.Waited(a.Context, i.Wait, OfFailed(&i))
		},
		Renewed: func(ctx context.Context, i distlock.RenewedInfo) {
			of(ctx).series.Renewal(OfRenewed(&i))
		},
		Lost: func(ctx context.Context, i distlock.LostInfo) { of(ctx).end(i.Held, Lost) },
		Released: func(ctx context.Context, i distlock.ReleasedInfo) {
			if !i.Reentrant {
				of(ctx).end(i.Held, OfReleased(&i))
			}
		},
	}
}

// end counts the end of the lease, unless it has ended already.
func (a *acquisition) end(d time.Duration, o Outcome) {
	phase := a.phase.Swap(over)
	if phase == over {
		return
	}
	if phase == held {
		a.series.Held(-1)
	}
	a.series.HeldFor(a.Context, d, o)
	if o == Lost {
		a.series.Loss()
	}
}
