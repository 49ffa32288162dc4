package test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

func TestDoAllTakesAll(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		m, err := testkit.AcquireAll(t.Context(), l, []string{"c", "a", "b", "a", "c"}, distlock.Opts{Prefix: "p:"})
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		for _, lease := range m.Leases {
			keys = append(keys, lease.Key())
		}
		if want := []string{"p:a", "p:b", "p:c"}; !slices.Equal(keys, want) {
			t.Errorf("the leases are of %q, want %q", keys, want)
		}
		for _, key := range []string{"a", "b", "c"} {
			if lease := m.Lease("p:" + key); lease == nil || lease.Token() == 0 {
				t.Errorf("the lease of %q is %+v", key, lease)
			}
		}
		time.Sleep(time.Minute) // all are renewed
		for _, lease := range m.Leases {
			wantIs(t, lease.Check())
		}
		wantIs(t, m.Context.Err())

		wantIs(t, m.Release())
		wantIs(t, context.Cause(m.Context), distlock.ErrLost)
		var released []string
		for _, c := range s.Calls(testkit.Release) {
			released = append(released, c.Key)
		}
		if want := []string{"p:c", "p:b", "p:a"}; !slices.Equal(released, want) {
			t.Errorf("released %q, want %q", released, want)
		}
		wantCalls(t, s, testkit.Release, 3)
		mustCloseAtOnce(t, l)
	})
}

func TestDoAllOrNothing(t *testing.T) {
	for name, o := range map[string]distlock.Opts{
		"once":    {RetryCount: 1},
		"budget":  {RetryCount: 3},
		"minhold": {RetryCount: 1, MinHold: time.Hour},
		"context": {},
	} {
		bubbleCase(t, name, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
			release := other(t, s, "c")
			want := []error{distlock.ErrNotAcquired}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if name == "context" {
				want = append(want, context.DeadlineExceeded)
			}
			start := time.Now()
			_, err := testkit.AcquireAll(ctx, l, []string{"d", "c", "b", "a"}, o)
			wantIs(t, err, want...)
			if keyOf(err) != "c" {
				t.Errorf("the error names %q: %v", keyOf(err), err)
			}
			if d := time.Since(start); o.RetryCount == 1 && d != 0 || o.RetryCount == 0 && d != time.Minute {
				t.Errorf("it took %v", d)
			}
			mustBeFree(t, s, "a", "b", "d")
			release()
			wantIs(t, mustAcquireAll(t, l, t.Context(), "a", "b", "c", "d").Release())
		})
	}
}

// A lease that is lost while the caller waits for another key ends the wait. The
// caller's own context has not ended, so the error must not match context.Canceled.
func TestDoAllLostMeanwhile(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		defer other(t, s, "b")()
		time.AfterFunc(time.Second, func() { s.Memory().Drop("a") })
		_, err := testkit.AcquireAll(t.Context(), l, []string{"a", "b"}, distlock.Opts{})
		wantIs(t, err, distlock.ErrNotAcquired, distlock.ErrLost)
		if keyOf(err) != "b" || !strings.Contains(err.Error(), `"a"`) {
			t.Errorf("the error does not name both keys: %v", err)
		}
		mustBeFree(t, s, "a")
	})
}

func TestDoAllLoss(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		m := mustAcquireAll(t, l, t.Context(), "a", "b", "c")
		s.Memory().Drop("b")
		<-m.Context.Done()
		if cause := context.Cause(m.Context); !errors.Is(cause, distlock.ErrLost) || keyOf(cause) != "b" {
			t.Errorf("the cause names %q: %v", keyOf(cause), cause)
		}
		err := m.Release()
		wantIs(t, err, distlock.ErrLost)
		if keyOf(err) != "b" {
			t.Errorf("released with %v", err)
		}
		mustBeFree(t, s, "a", "b", "c")
	})
}

func TestDoAllReentry(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		outer := testkit.MustAcquire(t, l, "b", distlock.Opts{})
		m := mustAcquireAll(t, l, outer.Context(), "c", "b", "a")
		if m.Lease("b").Token() != outer.Token() {
			t.Error("the key that was held has a new token")
		}
		inner := mustAcquireAll(t, l, m.Context, "a", "b", "c")
		for _, key := range []string{"a", "b", "c"} {
			if inner.Lease(key).Token() != m.Lease(key).Token() {
				t.Errorf("%q is not re-entered", key)
			}
		}
		wantIs(t, inner.Release())
		wantIs(t, m.Context.Err())
		wantIs(t, m.Release())
		wantIs(t, outer.Check())
		mustBeFree(t, s, "a", "c")
		if s.Free(t, "b") {
			t.Error("the outer lease is gone")
		}
		wantIs(t, outer.Release(t.Context()))
	})
}

func TestDoAllOptions(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		many := make([]string, 1001)
		for i := range many {
			many[i] = strconv.Itoa(i)
		}
		for name, c := range map[string]struct {
			keys []string
			o    distlock.Opts
			want string
		}{
			"none":     {nil, distlock.Opts{}, "keys is empty"},
			"too many": {many, distlock.Opts{}, "keys has 1001 elements"},
		} {
			if _, err := testkit.AcquireAll(t.Context(), l, c.keys, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if n := len(s.Calls(testkit.Try)) + len(s.Calls(testkit.Enqueue)); n != 0 {
			t.Errorf("%d attempts", n)
		}
		wantIs(t, mustAcquireAll(t, l, t.Context(), many[1:]...).Release())
	})
}

func TestDoAllClose(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		held := mustAcquireAll(t, l, t.Context(), "x", "y")
		ended := make(chan error, 3)
		context.AfterFunc(held.Context, func() { ended <- held.Release() })
		free := other(t, s, "b")
		for _, keys := range [][]string{{"a", "b"}, {"c", "x"}} { // in the store's queue, at the gate
			go func() {
				wantIs(t, testkit.ErrorOf(testkit.AcquireAll(t.Context(), l, keys, distlock.Opts{})), distlock.ErrClosed)
				ended <- nil
			}()
		}
		synctest.Wait()
		start := time.Now()
		wantIs(t, l.Close())
		wantTook(t, start, 0)
		for range 3 {
			if err := <-ended; err != nil && !errors.Is(err, distlock.ErrClosed) {
				t.Errorf("released with %v", err)
			}
		}
		free()
		mustBeFree(t, s, "a", "b", "c", "x", "y")
		wantIs(t, testkit.ErrorOf(testkit.AcquireAll(t.Context(), l, []string{"a"}, distlock.Opts{})), distlock.ErrClosed)
	})
}

// Release waits for a silent store twice, not once for each key.
func TestReleaseOfManyFromASilentStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		s.Hang(testkit.Release)
		l := testkit.NewLocker(t, s, distlock.Config{})
		n := 100
		if testkit.Race {
			n = 10 // if more timers fire at once, the race detector crashes: golang/go#78156
		}
		keys := make([]string, n)
		for i := range keys {
			keys[i] = strconv.Itoa(i)
		}
		m := mustAcquireAll(t, l, t.Context(), keys...)
		start := time.Now()
		wantIs(t, m.Release())
		if d := time.Since(start); d > 4*time.Second {
			t.Errorf("it took %v", d)
		}
		wantIs(t, l.Close())
	})
}

// The keys of a set share the budget: if one key has used it up, the next is tried
// only once.
func TestDoAllTriesOnceWhenTheBudgetIsSpent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		l := testkit.NewLocker(t, s.Only(0), distlock.Config{})
		release := other(t, s, "a")
		defer other(t, s, "b")()
		tries := map[string]int{}
		s.Before(func(_ context.Context, c *testkit.Call) error {
			if c.Op == testkit.Try {
				tries[c.Key]++
				if c.Key == "a" && tries["a"] == 3 {
					release()
				}
			}
			return nil
		})
		_, err := testkit.AcquireAll(t.Context(), l, []string{"a", "b"}, distlock.Opts{RetryCount: 3})
		wantIs(t, err, distlock.ErrNotAcquired)
		if tries["a"] != 3 || tries["b"] != 1 {
			t.Errorf("tried %v", tries)
		}
	})
}
