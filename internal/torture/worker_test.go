package torture

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/distlock-go/distlock"
)

// worker is a goroutine that takes keys.
type worker struct {
	*kid
	number   int
	rng      *rand.Rand
	register *registerClient
}

// work takes keys at random until all is healed, and then each key, and all together.
func (w *worker) work(life context.Context) (err error) {
	if w.register, err = dialRegister(w.Register); err != nil {
		return err
	}
	defer w.register.conn.Close()
	for err == nil {
		select {
		case <-w.healed:
			for _, key := range w.rng.Perm(w.Keys) {
				if err := w.round(life, w.askFor(true, key)); err != nil {
					return err
				}
			}
			return w.round(life, w.askFor(true, w.rng.Perm(w.Keys)...))
		default:
			err = w.round(life, w.askFor(false, w.anyKeys()...))
			time.Sleep(time.Duration(w.rng.IntN(10)) * time.Millisecond)
		}
	}
	return err
}

// round asks once, works under what it gets, if it gets it, and gives it back. An
// error is one of the worker's, not of the lock's.
func (w *worker) round(life context.Context, a ask) error {
	if a.leads {
		return w.lead(life, a)
	}
	t := w.begin(life, a)
	defer t.cancel()
	leases := make([]*distlock.Lease, len(a.keys))
	var held interface {
		Context() context.Context
		Valid() bool
		Release(ctx context.Context) error
	}
	var err error
	if len(a.keys) == 1 {
		leases[0], err = w.locker.Acquire(t.ctx, keyName(a.keys[0]), a.opts)
		held = leases[0]
	} else {
		var m *distlock.MultiLease
		if m, err = w.locker.AcquireAll(t.ctx, keyNames(a.keys), a.opts); err == nil {
			for i, key := range a.keys {
				leases[i] = m.Lease(keyName(key))
			}
		}
		held = m
	}
	if err != nil {
		t.refused(err)
		return nil
	}
	t.granted(leases)
	if err := t.work(held.Context(), held.Valid); err != nil {
		return err
	}
	t.released(held.Release(context.Background()))
	return nil
}
