package distlock_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
)

// straying is a store that receives one request late: the nth of an operation. The
// caller waits for the reply for at most an operation timeout.
type straying struct {
	*extending
	op    string
	nth   int
	delay time.Duration
}

// strays delays a request, and returns when there is a reply or the caller stops
// waiting.
func (s straying) strays(ctx context.Context, op, key, owner string, apply func()) bool {
	if op != s.op || len(s.seen(op)) != s.nth-1 {
		return false
	}
	_, _ = s.note(op, key, owner)
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	arrived := make(chan struct{})
	time.AfterFunc(s.delay, func() { apply(); close(arrived) })
	select {
	case <-ctx.Done():
	case <-arrived:
	}
	return true
}

func (s straying) TryAcquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if s.strays(ctx, "try", r.Key, r.Owner, func() { _, _ = s.Backend.TryAcquire(context.Background(), r) }) {
		return driver.Grant{}, errBroken
	}
	return s.extending.TryAcquire(ctx, r)
}

func (s straying) Renew(ctx context.Context, grants []driver.Grant, report func(int, driver.RenewResult)) {
	if s.strays(ctx, "renew", grants[0].Key, grants[0].Owner, func() { driver.RenewAll(context.Background(), s.Backend, grants) }) {
		return
	}
	s.extending.Renew(ctx, grants, report)
}

func (s straying) Extend(ctx context.Context, g driver.Grant, tokens int) (driver.Grant, error) {
	if s.strays(ctx, "extend", g.Key, g.Owner, func() { driver.RenewAll(context.Background(), s.Backend, []driver.Grant{g}) }) {
		return driver.Grant{}, errBroken
	}
	return s.extending.Extend(ctx, g, tokens)
}

// A request that extends the lease gets no reply in time, and reaches the store when
// the key is already kept: it would shorten the time.
func TestMinHoldOutlastsAStray(t *testing.T) {
	after := func(d time.Duration) func(*testing.T, *distlock.Lease) {
		return func(*testing.T, *distlock.Lease) { time.Sleep(d) }
	}
	refresh := func(t *testing.T, held *distlock.Lease) { _ = held.Refresh(t.Context()) }
	for name, c := range map[string]struct {
		op    string
		delay time.Duration
		run   func(t *testing.T, held *distlock.Lease)
	}{
		"renewal":                {"renew", 20 * time.Second, after(5 * time.Second)},
		"renewal, under way":     {"renew", 20 * time.Second, after(3 * time.Second)},
		"renewal, and no answer": {"renew", 20 * time.Second, after(5 * time.Second)},
		"renewal, and an outage": {"renew", 20 * time.Second, after(5 * time.Second)},
		"renewal, very late":     {"renew", 50 * time.Second, after(5 * time.Second)},
		"renewal, long ago":      {"renew", 40 * time.Second, after(30 * time.Second)},
		"keeping":                {"renew", 20 * time.Second, after(time.Second)},
		"refresh":                {"renew", 20 * time.Second, refresh},
		"refresh, under way": {"renew", 20 * time.Second, func(t *testing.T, held *distlock.Lease) {
			go refresh(t, held)
			time.Sleep(time.Second)
		}},
		"attempt":  {"try", 20 * time.Second, after(time.Second)},
		"question": {"extend", 20 * time.Second, after(time.Second)},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, _ *distlock.Locker, s *store) {
				var b driver.Backend = straying{&extending{store: s}, c.op, 1, c.delay}
				if c.op == "try" { // the second one, because the lock was held before
					b = polling{straying{&extending{store: s}, c.op, 2, c.delay}}
				}
				l := distlock.New(b, distlock.Config{HandOvers: 1})
				defer closeLocker(t, l)
				before := mustAcquire(t, l, "k", distlock.Opts{KeyTimeout: 6 * time.Second})
				if c.op != "extend" {
					wantIs(t, before.Release(t.Context()))
				}
				next := inBackground(t, l, distlock.Opts{KeyTimeout: 6 * time.Second, MinHold: time.Minute})
				wantIs(t, before.Release(t.Context()))
				held := <-next
				start := time.Now()
				c.run(t, held)
				silent := func(d time.Duration) {
					s.fail("renew")
					time.AfterFunc(d, func() { s.fail() })
				}
				if name == "renewal, and no answer" {
					silent(3 * time.Second)
				}
				_ = held.Release(t.Context())
				if name == "renewal, and an outage" {
					silent(c.delay - time.Since(start))
				}
				asked := len(s.seen("renew"))
				heldFor(t, s, "k")
				if d := time.Since(start).Truncate(time.Second); d != time.Minute {
					t.Errorf("the key stayed for %v", d)
				}
				// not more often than a lease is renewed
				if n := len(s.seen("renew")) - asked; n > 35 && !strings.Contains(name, ", and ") {
					t.Errorf("asked %d times to keep it", n)
				}
			})
		})
	}
}

// An Extend request is in progress when the key is to be kept: the Locker waits for it,
// so that nothing can reach the store later, even if the process ends.
func TestMinHoldWaitsForAQuestionUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &extending{store: newStore()}
		p.before = func(c call) error {
			if c.op == "extend" {
				time.Sleep(50 * time.Millisecond)
			}
			return nil
		}
		l := distlock.New(p, distlock.Config{HandOvers: 1})
		held := mustAcquire(t, l, "k", distlock.Opts{})
		next := inBackground(t, l, distlock.Opts{MinHold: time.Minute})
		wantIs(t, held.Release(t.Context()))
		kept := mustGet(t, next)
		start := time.Now()
		wantCalls(t, p.store, "extend", 1)
		wantIs(t, kept.Release(t.Context()))
		if d := time.Since(start); d != 50*time.Millisecond {
			t.Errorf("released after %v, want when the question is answered", d)
		}
		closeLocker(t, l)
		heldFor(t, p.store, "k")
		if d := time.Since(start).Truncate(time.Second); d != time.Minute {
			t.Errorf("the key stayed for %v", d)
		}
	})
}

// An answered request cannot arrive later: the key is kept only once.
func TestMinHoldIsSaidOnce(t *testing.T) {
	for name, extend := range map[string]func(t *testing.T, held *distlock.Lease){
		"renewal":  func(*testing.T, *distlock.Lease) { time.Sleep(5 * time.Second) },
		"refresh":  func(t *testing.T, held *distlock.Lease) { wantIs(t, held.Refresh(t.Context())) },
		"refused":  func(t *testing.T, held *distlock.Lease) { wantIs(t, held.Refresh(t.Context())) },
		"question": func(*testing.T, *distlock.Lease) { synctest.Wait() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &extending{store: newStore()}
				if name == "refused" {
					p.refuse = func(driver.Grant) error { return distlock.ErrNotAcquired }
				}
				l := distlock.New(p, distlock.Config{HandOvers: 1})
				defer closeLocker(t, l)
				before := mustAcquire(t, l, "k", distlock.Opts{})
				next := inBackground(t, l, distlock.Opts{MinHold: time.Minute})
				wantIs(t, before.Release(t.Context()))
				held := mustGet(t, next)
				wantCalls(t, p.store, "extend", 1)
				extend(t, held)
				renewals := len(p.seen("renew"))
				wantIs(t, held.Release(t.Context()))
				time.Sleep(2 * time.Minute)
				wantCalls(t, p.store, "renew", renewals+1)
				nothingLeft(t, l, p.store)
			})
		})
	}
}
