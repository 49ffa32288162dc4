package testkit_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/locktest"
)

func request(key, owner string) driver.Request {
	return driver.Request{Key: key, Owner: owner, TTL: time.Minute, Tokens: 4}
}

func take(t *testing.T, b driver.Backend, key string) driver.Grant {
	t.Helper()
	g, err := b.TryAcquire(t.Context(), request(key, "me"))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// A store that no test has changed is an honest backend.
func TestConformance(t *testing.T) {
	locktest.Run(t, func(*testing.T) driver.Backend { return testkit.NewStore() }, locktest.Features{
		Bubble: true,
		Drop:   func(_ *testing.T, b driver.Backend, key string) { b.(*testkit.Store).Memory().Drop(key) },
		Peer:   func(_ *testing.T, first driver.Backend) driver.Backend { return first },
	})
}

// A failed call is not applied, and is recorded all the same.
func TestBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		s.Fail(testkit.ErrBroken, testkit.Try, testkit.Ping)
		if _, err := s.TryAcquire(t.Context(), request("k", "me")); !errors.Is(err, testkit.ErrBroken) || !s.Free(t, "k") {
			t.Errorf("%v, free %v", err, s.Free(t, "k"))
		}
		if err := s.Ping(t.Context()); !errors.Is(err, testkit.ErrBroken) {
			t.Errorf("Ping: %v", err)
		}
		s.Fail(nil)
		s.Before(func(_ context.Context, c *testkit.Call) error {
			c.Requests[0].TTL = time.Second
			return nil
		})
		take(t, s, "k")
		time.Sleep(2 * time.Second)
		if !s.Free(t, "k") {
			t.Error("the hook has not changed the request")
		}
		if n, m := len(s.Calls(testkit.Try)), len(s.Calls()); n != 2 || m != 3 {
			t.Errorf("%d attempts of %d calls", n, m)
		}
		if got := s.Attempts(); !slices.Equal(got, []string{"k", "k"}) {
			t.Errorf("attempts %q", got)
		}
	})
}

// A lost reply is that of a call that was applied.
func TestAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		s.LoseReplies(testkit.Try, 1)
		if _, err := s.TryAcquire(t.Context(), request("k", "me")); !errors.Is(err, testkit.ErrBroken) || s.Free(t, "k") {
			t.Errorf("%v, free %v", err, s.Free(t, "k"))
		}
		g := take(t, s, "other")
		s.After(func(_ context.Context, c *testkit.Call) error {
			switch c.Op {
			case testkit.Renew:
				c.Results[0].Status = driver.Lost
			case testkit.Inspect:
				return testkit.ErrBroken
			}
			return nil
		})
		if r := driver.RenewAll(t.Context(), s, []driver.Grant{g}); r[0].Status != driver.Lost {
			t.Errorf("the renewal is %+v", r[0])
		}
		if infos, err := s.Inspect(t.Context(), "", 9); len(infos) != 2 || !errors.Is(err, testkit.ErrBroken) {
			t.Errorf("found %v, %v", infos, err)
		}
	})
}

// A delay is on the way to the store, or on the way back.
func TestDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		s.Delay(time.Second, testkit.Try)
		s.DelayReplies(2*time.Second, testkit.Try)
		start := time.Now()
		if g := take(t, s, "k"); g.Sent.Sub(start) != time.Second || time.Since(start) != 3*time.Second {
			t.Errorf("granted after %v, told after %v", g.Sent.Sub(start), time.Since(start))
		}
	})
}

func TestLimitTokens(t *testing.T) {
	s := testkit.NewStore()
	s.LimitTokens(2)
	if g := take(t, s, "few"); g.Token == 0 || g.LastToken != g.Token+1 {
		t.Errorf("tokens %d to %d", g.Token, g.LastToken)
	}
	s.LimitTokens(0)
	if g := take(t, s, "none"); g.Token != 0 || g.LastToken != 0 {
		t.Errorf("tokens %d to %d", g.Token, g.LastToken)
	}
}

// What a failed renewal reports depends on the error.
func TestFailedRenewals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		g := take(t, s, "k")
		for err, want := range map[error]driver.RenewResult{
			testkit.ErrBroken: {Status: driver.Unknown, Err: testkit.ErrBroken},
			testkit.ErrSilent: {},
			driver.ErrForeign: {Status: driver.Lost, Err: driver.ErrForeign},
		} {
			s.Fail(err, testkit.Renew)
			if got := driver.RenewAll(t.Context(), s, []driver.Grant{g}); got[0] != want {
				t.Errorf("%v: %+v", err, got[0])
			}
		}
	})
}

func TestHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		g := take(t, s, "k")
		s.Hang(testkit.Release, testkit.Renew)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if err := s.Release(ctx, g); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second || s.Free(t, "k") {
			t.Errorf("%v after %v, free %v", err, time.Since(start), s.Free(t, "k"))
		}
		if got := driver.RenewAll(ctx, s, []driver.Grant{g}); got[0] != (driver.RenewResult{}) {
			t.Errorf("a renewal that hangs reports %+v", got[0])
		}
	})
}

// A view has the abilities that it was asked for, and no others.
func TestOnly(t *testing.T) {
	s := testkit.NewStore()
	for _, want := range []testkit.Ability{
		0, testkit.Queuing, testkit.Queuing | testkit.Extending, testkit.Waking,
	} {
		var got testkit.Ability
		b := s.Only(want)
		for ability, has := range map[testkit.Ability]bool{
			testkit.Queuing:   is[driver.Queuer](b),
			testkit.Extending: is[driver.Extender](b),
			testkit.Waking:    is[driver.Waker](b),
		} {
			if has {
				got |= ability
			}
		}
		if got != want {
			t.Errorf("a view of %#b has %#b", want, got)
		}
		if is[driver.Inspector](b) || is[driver.Revoker](b) {
			t.Errorf("a view of %#b has more abilities", want)
		}
	}
	if is[driver.Extender](s) || is[driver.Waker](s) {
		t.Error("the store has abilities that only a view has")
	}
	s.SetFeatures(driver.Features{MaxTTL: time.Second})
	if f := s.Only(0).Features(); f.MaxTTL != time.Second || f.Sharing {
		t.Errorf("the view's features are %+v", f)
	}
}

func is[T any](v any) bool { _, ok := v.(T); return ok }

// An extended grant has the full time, and larger tokens.
func TestExtend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		e := s.Only(testkit.Queuing | testkit.Extending).(driver.Extender)
		g := take(t, s, "k")
		time.Sleep(50 * time.Second)
		more, err := e.Extend(t.Context(), g, 3)
		if err != nil || more.Token <= g.LastToken || more.LastToken != more.Token+2 {
			t.Errorf("tokens %d to %d after %d, %v", more.Token, more.LastToken, g.LastToken, err)
		}
		time.Sleep(50 * time.Second)
		if s.Free(t, "k") {
			t.Error("the lease was not extended")
		}
		s.Steal(t, "k")
		if _, err := e.Extend(t.Context(), more, 3); !errors.Is(err, driver.ErrLost) {
			t.Errorf("a stolen key: %v", err)
		}
		if n := len(s.Calls(testkit.Extend)); n != 2 {
			t.Errorf("%d calls", n)
		}
	})
}

// A watch says at once that it works, then after each release.
func TestWake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		ctx, cancel := context.WithCancel(t.Context())
		look := s.Only(testkit.Waking).(driver.Waker).Wake(ctx, "k")
		<-look
		g := take(t, s, "k")
		if err := s.Release(t.Context(), g); err != nil {
			t.Fatal(err)
		}
		<-look
		if n := s.Watches(); n != 1 {
			t.Errorf("%d watches", n)
		}
		cancel()
		s.WakeAll()
		if len(look) != 0 || s.Watches() != 0 {
			t.Errorf("%d values and %d watches after the end", len(look), s.Watches())
		}
	})
}
