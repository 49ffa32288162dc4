package locktest

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
)

// leaseCases are about leases of a Locker.
var leaseCases = []testCase{
	{
		name: "kept-alive",
		explanation: "While a function runs, the watchdog renews its lease, even if the function takes much longer than one lease, " +
			"and no other owner gets the key.",
		run: func(f *fixture) {
			key := f.key()
			b := &timed{Backend: f.backend}
			l := f.locker(b, distlock.Config{})
			o := f.opts()
			o.KeyTimeout = 2 * f.Lease
			var stall time.Duration // the longest delay by the machine
			err := l.Do(f.Context(), key, o, func(ctx context.Context) error {
				pause := f.Lease / 5
				for last, end := time.Now(), time.Now().Add(3*o.KeyTimeout); last.Before(end) && ctx.Err() == nil; {
					f.busyWhileValid(ctx, key)
					time.Sleep(pause)
					stall = max(stall, time.Since(last)-pause)
					last = time.Now()
				}
				return context.Cause(ctx)
			})
			if err != nil && l.Close() == nil && max(stall, time.Duration(b.longest.Load())) > o.KeyTimeout/3 {
				f.tooSlow() // Close has waited for all renewals
			}
			if err != nil {
				f.Errorf("Do: %v", err)
			}
			f.free(key)
		},
	},
	{
		name: "loss-is-told",
		explanation: "If the store has forgotten the holder and granted the key to another owner, the next renewal cancels the context of the function " +
			"with cause ErrLost. Release reports ErrLost, and the new holder keeps the key.",
		needs: []need{needsDrop},
		run: func(f *fixture) {
			key := f.key()
			l := f.locker(f.backend, distlock.Config{})
			o := f.opts()
			o.KeyTimeout = 2 * f.Lease
			s := f.acquire(l, key, o)
			f.Drop(f.T, f.backend, key)
			g := f.try(f.request(key, long))
			if !f.ended(s, o.KeyTimeout) {
				f.Fatal("the context of a lost lease has not ended")
			}
			f.mustBeLost(context.Cause(s.Context()))
			f.mustBeLost(s.Check())
			f.mustBeLost(s.Refresh(f.Context()))
			f.mustBeLost(s.Release(f.Context()))
			f.busy(f.request(key, long))
			f.want(f.renewAll(g), driver.Renewed)
			f.release(g)
		},
	},
}

// timed is a backend that measures how long its acquisitions and renewals take. It has no
// other abilities.
type timed struct {
	driver.Backend

	longest atomic.Int64 // in nanoseconds
}

func (t *timed) TryAcquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	defer t.took(time.Now())
	return t.Backend.TryAcquire(ctx, r)
}

func (t *timed) Renew(ctx context.Context, grants []driver.Grant, report func(int, driver.RenewResult)) {
	defer t.took(time.Now())
	t.Backend.Renew(ctx, grants, report)
}

func (t *timed) took(begun time.Time) {
	t.longest.Store(max(t.longest.Load(), int64(time.Since(begun))))
}

// busyWhileValid checks that no other owner gets the key while the lease in ctx is valid.
func (f *fixture) busyWhileValid(ctx context.Context, key string) {
	f.Helper()
	_, err := f.attempt(f.request(key, long))
	if s, ok := distlock.FromContext(ctx); ok && s.Check() != nil {
		return
	}
	f.mustBeHeld(err)
}

// acquire takes a free key. It releases it at the end if the case has not.
func (f *fixture) acquire(l *distlock.Locker, key string, o distlock.Opts) *distlock.Lease {
	f.Helper()
	s, err := l.Acquire(f.Context(), key, o)
	if err != nil {
		f.Fatalf("Acquire of a free key: %v", err)
	}
	f.Cleanup(func() { _ = s.Release(context.WithoutCancel(f.Context())) })
	return s
}

// ended waits until the context of the lease is cancelled.
func (f *fixture) ended(s *distlock.Lease, within time.Duration) bool {
	select {
	case <-s.Context().Done():
		return errors.Is(s.Context().Err(), context.Canceled)
	case <-time.After(within + f.soon()):
		return false
	}
}
