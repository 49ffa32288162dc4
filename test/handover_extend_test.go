package test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// circulate passes one key among n waiters and the first holder, and returns the number
// of calls of each kind that reached the store. The tokens must rise.
func circulate(t *testing.T, s *testkit.Store, cfg distlock.Config, n int, f func(ctx context.Context)) (waits, releases, extends int) {
	t.Helper()
	l := distlock.New(extending(s), cfg)
	defer nothingLeft(t, l, s)
	defer func() { wantIs(t, l.Close()) }()
	held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
	var all sync.WaitGroup
	last, inside := held.Token(), false
	line(t, &all, l, n, distlock.Opts{}, func(ctx context.Context, _ int) {
		lease, _ := distlock.FromContext(ctx)
		if lease.Token() <= last || inside {
			t.Errorf("token %d after %d, overlap %v", lease.Token(), last, inside)
		}
		last, inside = lease.Token(), true
		f(ctx)
		wantIs(t, lease.Check())
		inside = false
	})
	wantIs(t, held.Release(t.Context()))
	all.Wait()
	synctest.Wait() // a request may have been decided on and not sent
	return len(s.Calls(testkit.Wait)), len(s.Calls(testkit.Release)), len(s.Calls(testkit.Extend))
}

// untimed makes only the count end the hand-overs.
var untimed = distlock.Config{HandOverTime: time.Hour}

func TestExtendedKeyStaysInTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waits, releases, extends := circulate(t, testkit.NewStore(), untimed, 500, func(context.Context) {})
		if waits != 1 || releases != 1 || extends != 8 { // 500 hand-overs by 64
			t.Errorf("%d acquisitions, %d releases, %d questions; want 1, 1, 8", waits, releases, extends)
		}
	})
}

// A key with few hand-overs does not cause requests.
func TestFewHandOversAskNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if _, _, n := circulate(t, testkit.NewStore(), untimed, 8, func(context.Context) {}); n != 0 {
			t.Errorf("%d questions for 8 hand-overs", n)
		}
	})
}

func TestRefusedHoldGoesBackAtItsBound(t *testing.T) {
	for name, refusal := range map[string]error{"others wait": distlock.ErrNotAcquired, "no answer": testkit.ErrBroken} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := testkit.NewStore()
				s.Fail(refusal, testkit.Extend)
				waits, releases, extends := circulate(t, s, untimed, 500, func(context.Context) {})
				if waits != 8 || releases != 8 || extends != 8 { // 501 holders by 65
					t.Errorf("%d acquisitions, %d releases, %d questions; want 8 each", waits, releases, extends)
				}
			})
		})
	}
}

func TestContendedGrantIsNotExtended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		s.After(func(_ context.Context, c *testkit.Call) error {
			if c.Op == testkit.Wait {
				c.Grants[0].Contended = true
			}
			return nil
		})
		waits, _, extends := circulate(t, s, untimed, 500, func(context.Context) {})
		if waits != 8 || extends != 0 {
			t.Errorf("%d acquisitions, %d questions; want 8 and none", waits, extends)
		}
	})
}

// A block may be smaller than asked for.
func TestExtendedByFewTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		s.LimitTokens(16)
		waits, _, extends := circulate(t, s, untimed, 15+160, func(context.Context) { synctest.Wait() })
		if waits != 1 || extends != 1+10 {
			t.Errorf("%d acquisitions, %d questions; want 1 and 11", waits, extends)
		}
	})
}

func TestExtendedHoldEndsWithItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		s.LimitTokens(5) // each grant is extended before its time has passed
		waits, releases, extends := circulate(t, s, distlock.Config{}, 50, func(context.Context) { time.Sleep(10 * time.Millisecond) })
		if waits < 5 || waits > 6 || releases != waits || extends < waits { // 100 ms are ten holders of 10 ms
			t.Errorf("%d acquisitions, %d releases, %d questions for 50 holders of 10 ms", waits, releases, extends)
		}
	})
}

// Extending counts as a renewal.
func TestExtendExtendsTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		s.LimitTokens(2)
		circulate(t, s, untimed, 30, func(ctx context.Context) {
			time.Sleep(time.Second)
			lease, _ := distlock.FromContext(ctx)
			if d := time.Until(lease.Until()); d < 4*time.Second {
				t.Errorf("%v are left", d)
			}
		})
		if n := len(s.Calls(testkit.Renew)); n > 0 { // requests come every two seconds
			t.Errorf("renewed %d times by the watchdog", n)
		}
	})
}

// A holder that releases the last share of a block waits for the reply, for at most 100
// ms.
func TestExtendWithoutAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		s.Hang(testkit.Extend)
		start := time.Now()
		waits, releases, extends := circulate(t, s, untimed, 64+65, func(context.Context) {})
		if d := time.Since(start); d != 200*time.Millisecond { // the last one of each grant
			t.Errorf("it took %v", d)
		}
		if waits != 2 || releases != 2 || extends != 2 {
			t.Errorf("%d acquisitions, %d releases, %d questions; want 2 each", waits, releases, extends)
		}
	})
}

// A release does not wait for a reply if there is nothing to hand over, or no room for
// another holder.
func TestReleaseDoesNotWaitForAExtend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		s.Delay(50*time.Millisecond, testkit.Extend)
		start := time.Now()
		l := distlock.New(extending(s), untimed)
		held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
		var all sync.WaitGroup
		line(t, &all, l, 20, distlock.Opts{}, func(context.Context, int) {})
		wantIs(t, held.Release(t.Context()))
		all.Wait()
		if d := time.Since(start); d != 0 {
			t.Errorf("it took %v", d)
		}
		wantIs(t, l.Close()) // waits for requests in progress
		nothingLeft(t, l, s)
	})
}

// The holder of the last share of a block waits for a reply in flight.
func TestSlowAnswerIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		s.Delay(10*time.Millisecond, testkit.Extend)
		waits, releases, extends := circulate(t, s, untimed, 500, func(context.Context) {})
		if waits != 1 || releases != 1 || extends != 8 {
			t.Errorf("%d acquisitions, %d releases, %d questions; want 1, 1, 8", waits, releases, extends)
		}
	})
}

// A grant that is extended or released has the last token that was issued for it, used or
// not: a store may have to record it, or begin the next tokens there.
func TestStoreIsToldTheLastToken(t *testing.T) {
	for n := range 5 {
		synctest.Test(t, func(t *testing.T) {
			s := testkit.NewStore()
			var last, released uint64 // the last token that was issued, and that of the release
			s.Before(func(_ context.Context, c *testkit.Call) error {
				switch c.Op {
				case testkit.Extend:
					if c.Grants[0].LastToken != last {
						t.Errorf("extended with token %d, issued up to %d", c.Grants[0].LastToken, last)
					}
				case testkit.Release:
					released = c.Grants[0].LastToken
				}
				return nil
			})
			s.After(func(_ context.Context, c *testkit.Call) error {
				if c.Op == testkit.Wait || c.Op == testkit.Extend {
					last = c.Grants[0].LastToken
				}
				return nil
			})
			s.LimitTokens(3)
			l := testkit.NewLocker(t, extending(s), distlock.Config{})
			held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
			for range n {
				next := inBackground(t, l, distlock.Opts{})
				wantIs(t, held.Release(t.Context()))
				held = mustGet(t, next)
			}
			wantIs(t, held.Release(t.Context()))
			if last == 0 || released != last {
				t.Errorf("released with token %d after %d hand-overs, issued up to %d", released, n, last)
			}
		})
	}
}
