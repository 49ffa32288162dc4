package test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// stray makes s receive the nth call of op late. The caller waits for the reply for at most
// an operation timeout.
func stray(s *testkit.Store, op testkit.Op, nth int, delay time.Duration) {
	s.Before(func(ctx context.Context, c *testkit.Call) error {
		if c.Op != op || len(s.Calls(op)) != nth {
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		arrived := make(chan struct{})
		time.AfterFunc(delay, func() {
			if op == testkit.Try {
				_, _ = s.Backend.TryAcquire(context.Background(), c.Request)
			} else { // an extension is a renewal, too
				driver.RenewAll(context.Background(), s.Backend, c.Grants)
			}
			close(arrived)
		})
		select {
		case <-ctx.Done():
		case <-arrived:
		}
		if op == testkit.Renew {
			return testkit.ErrSilent
		}
		return testkit.ErrBroken
	})
}

// A request that extends the lease gets no reply in time, and reaches the store when the
// key is already kept. It does not shorten the time, so the store is asked to keep it once.
func TestMinHoldOutlastsAStray(t *testing.T) {
	after := func(d time.Duration) func(*testing.T, *distlock.Lease) {
		return func(*testing.T, *distlock.Lease) { time.Sleep(d) }
	}
	refresh := func(t *testing.T, held *distlock.Lease) { _ = held.Refresh(t.Context()) }
	for name, c := range map[string]struct {
		op    testkit.Op
		delay time.Duration
		run   func(t *testing.T, held *distlock.Lease)
	}{
		"renewal":                {testkit.Renew, 20 * time.Second, after(5 * time.Second)},
		"renewal, under way":     {testkit.Renew, 20 * time.Second, after(3 * time.Second)},
		"renewal, and no answer": {testkit.Renew, 20 * time.Second, after(5 * time.Second)},
		"renewal, and an outage": {testkit.Renew, 20 * time.Second, after(5 * time.Second)},
		"renewal, very late":     {testkit.Renew, 50 * time.Second, after(5 * time.Second)},
		"renewal, at the end":    {testkit.Renew, 55 * time.Second, after(5 * time.Second)}, // for longer, but the key is released
		"renewal, long ago":      {testkit.Renew, 40 * time.Second, after(30 * time.Second)},
		"keeping":                {testkit.Renew, 20 * time.Second, after(time.Second)},
		"refresh":                {testkit.Renew, 20 * time.Second, refresh},
		"refresh, under way": {testkit.Renew, 20 * time.Second, func(t *testing.T, held *distlock.Lease) {
			go refresh(t, held)
			time.Sleep(time.Second)
		}},
		"attempt":  {testkit.Try, 20 * time.Second, after(time.Second)},
		"question": {testkit.Extend, 20 * time.Second, after(time.Second)},
	} {
		bubbleCase(t, name, func(t *testing.T, _ *distlock.Locker, s *testkit.Store) {
			b, nth := extending(s), 1
			if c.op == testkit.Try { // the second one, because the lock was held before
				b, nth = s.Only(0), 2
			}
			stray(s, c.op, nth, c.delay)
			s.LimitTokens(2)
			l := testkit.NewLocker(t, b, distlock.Config{})
			before := testkit.MustAcquire(t, l, "k", distlock.Opts{KeyTimeout: 6 * time.Second})
			if c.op != testkit.Extend {
				wantIs(t, before.Release(t.Context()))
			}
			next := inBackground(t, l, distlock.Opts{KeyTimeout: 6 * time.Second, MinHold: time.Minute})
			wantIs(t, before.Release(t.Context()))
			held := <-next
			start := time.Now()
			c.run(t, held)
			silent := func(d time.Duration) {
				s.Fail(testkit.ErrBroken, testkit.Renew)
				time.AfterFunc(d, func() { s.Fail(nil) })
			}
			if name == "renewal, and no answer" {
				silent(3 * time.Second)
			}
			_ = held.Release(t.Context())
			if name == "renewal, and an outage" {
				silent(c.delay - time.Since(start))
			}
			asked := len(s.Calls(testkit.Renew))
			wantFreeAfter(t, s, "k", start, time.Minute)
			if n := len(s.Calls(testkit.Renew)) - asked; n > 0 && name != "keeping" && name != "renewal, and no answer" {
				t.Errorf("asked %d more times to keep it", n)
			}
		})
	}
}

// An Extend request is in progress when the key is to be kept: the Locker waits for it,
// so that nothing can reach the store later, even if the process ends.
func TestMinHoldWaitsForAQuestionUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		s.Delay(50*time.Millisecond, testkit.Extend)
		s.LimitTokens(2)
		l := distlock.New(extending(s), distlock.Config{})
		held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
		next := inBackground(t, l, distlock.Opts{MinHold: time.Minute})
		wantIs(t, held.Release(t.Context()))
		kept := mustGet(t, next)
		start := time.Now()
		wantCalls(t, s, testkit.Extend, 1)
		wantIs(t, kept.Release(t.Context()))
		wantTook(t, start, 50*time.Millisecond)
		wantIs(t, l.Close())
		wantFreeAfter(t, s, "k", start, time.Minute)
	})
}
