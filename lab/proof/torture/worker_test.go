package torture

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// worker is a goroutine that acquires keys.
type worker struct {
	*kid
	number   int
	rng      *rand.Rand
	register user
}

// work acquires keys at random until the faults end, then each key, then all keys
// together.
func (w *worker) work(life context.Context) (err error) {
	w.register = w.use()
	defer w.register.Close()
	for err == nil {
		select {
		case <-life.Done():
			return life.Err()
		case <-w.healed:
			return w.takeAll(life)
		default:
			_, err = w.round(life, w.askFor(false, w.anyKeys()...))
			time.Sleep(time.Duration(w.rng.IntN(10*max(w.Slow, w.Rest, 1))) * time.Millisecond)
		}
	}
	return err
}

// takeAll acquires each key, and then all keys together, after the faults have ended.
func (w *worker) takeAll(life context.Context) error {
	for _, key := range w.rng.Perm(w.Keys) {
		if _, err := w.round(life, w.askFor(true, key)); err != nil {
			return err
		}
	}
	for {
		// A process that does not run may lose one lease while it waits for another.
		got, err := w.round(life, w.askFor(true, w.rng.Perm(w.Keys)...))
		if got || err != nil || life.Err() != nil {
			return err
		}
	}
}

// round makes one attempt, works under the locks and releases them. It reports whether
// it got them. An error is an error of the worker, not of the lock.
func (w *worker) round(life context.Context, a ask) (got bool, err error) {
	if a.leads {
		return w.lead(life, a)
	}
	t := w.begin(life, a)
	defer t.cancel()
	leases := make([]*distlock.Lease, len(a.keys))
	var ctx context.Context
	var release func() error
	if len(a.keys) == 1 {
		if leases[0], err = w.locker.Acquire(t.ctx, keyName(a.keys[0]), a.opts); err == nil {
			ctx, release = leases[0].Context(), func() error { return leases[0].Release(context.Background()) }
		}
	} else {
		var all *testkit.Set
		if all, err = testkit.AcquireAll(t.ctx, w.locker, keyNames(a.keys), a.opts); err == nil {
			for i, key := range a.keys {
				leases[i] = all.Lease(a.opts.Prefix + keyName(key))
			}
			ctx, release = all.Context, all.Release
		}
	}
	if err != nil {
		t.refused(err)
		return false, nil
	}
	t.granted(leases)
	valid := func() bool {
		return !slices.ContainsFunc(leases, func(lease *distlock.Lease) bool { return lease.Check() != nil })
	}
	if err := t.work(ctx, valid); err != nil {
		_ = release() // the process ends with err
		return true, err
	}
	t.released(release())
	return true, nil
}
