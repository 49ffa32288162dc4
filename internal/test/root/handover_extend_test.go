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

// circulation is what passing a key around has cost.
type circulation struct {
	waits, releases, extends int // calls that reached the store
	took                     time.Duration
}

// circulate passes one key among n waiters and the first holder. The tokens must rise.
func circulate(t *testing.T, s *testkit.Store, cfg distlock.Config, n int, f func(ctx context.Context)) circulation {
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
	start := time.Now()
	wantIs(t, held.Release(t.Context()))
	all.Wait()
	took := time.Since(start)
	synctest.Wait() // a request may have been decided on and not sent
	return circulation{len(s.Calls(testkit.Enqueue)), len(s.Calls(testkit.Release)), len(s.Calls(testkit.Extend)), took}
}

// untimed makes only the count end the hand-overs.
var untimed = distlock.Config{HandOverTime: time.Hour}

// The store is asked in the background whether others wait, and for more tokens, but not for a
// key that changes hands in no time. If others wait, or it does not answer, the key goes to the
// callers that were there when it was asked; they were all there.
func TestExtend(t *testing.T) {
	failing := func(err error) func(*testkit.Store) {
		return func(s *testkit.Store) { s.Fail(err, testkit.Extend) }
	}
	few := func(more func(s *testkit.Store)) func(*testkit.Store) {
		return func(s *testkit.Store) { s.LimitTokens(16); more(s) }
	}
	slow := func(s *testkit.Store) { s.Delay(10*time.Millisecond, testkit.Extend) }
	nothing, works := func(*testkit.Store) {}, func(context.Context) { time.Sleep(time.Millisecond) }
	for name, c := range map[string]struct {
		store   func(s *testkit.Store)
		waiters int
		work    func(context.Context)
		want    circulation
	}{
		"extended":     {nothing, 100, works, circulation{1, 1, 99, 100 * time.Millisecond}},
		"in no time":   {nothing, 100, func(context.Context) {}, circulation{1, 1, 0, 0}},
		"others wait":  {failing(distlock.ErrNotAcquired), 100, works, circulation{1, 1, 1, 100 * time.Millisecond}},
		"broken":       {failing(testkit.ErrBroken), 100, works, circulation{1, 1, 1, 100 * time.Millisecond}},
		"a few tokens": {few(nothing), 15 + 160, func(context.Context) { synctest.Wait() }, circulation{1, 1, 1 + 10, 0}},
		// They came after those that wait at the first grant.
		"contended": {func(s *testkit.Store) {
			s.After(func(_ context.Context, c *testkit.Call) error {
				if c.Op == testkit.Enqueue {
					c.Grants[0].Contended = true
				}
				return nil
			})
		}, 100, works, circulation{2, 2, 0, 100 * time.Millisecond}},
		// The holder of the last token waits for the answer, for at most 100 ms.
		"a slow answer": {few(slow), 15 + 16, func(context.Context) {}, circulation{1, 1, 2, 10 * time.Millisecond}},
		"no answer":     {few(func(s *testkit.Store) { s.Hang(testkit.Extend) }), 31, func(context.Context) {}, circulation{2, 2, 2, 100 * time.Millisecond}},
		// There is nothing more to hand over, so nothing waits for the answer.
		"a slow answer, unused": {few(slow), 12, func(context.Context) {}, circulation{1, 1, 1, 0}},
	} {
		testkit.InBubble(t, name, func(t *testing.T) {
			s := testkit.NewStore()
			c.store(s)
			if got := circulate(t, s, untimed, c.waiters, c.work); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

// A grant that is extended or released has the last token that was issued for it, used or
// not: a store may have to record it, or begin the next tokens there.
func TestStoreIsToldTheLastToken(t *testing.T) {
	for n := range 5 {
		synctest.Test(t, func(t *testing.T) {
			s := testkit.NewStore()
			var last, released uint64 // the last token that was issued, and the token of the release
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
				if c.Op == testkit.Enqueue || c.Op == testkit.Extend {
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
