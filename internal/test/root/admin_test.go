package test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

func TestInspect(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, _ *testkit.Store) {
		start := time.Now()
		held := testkit.MustAcquire(t, l, "shop:a", distlock.Opts{})
		defer func() { wantIs(t, held.Release(t.Context())) }()
		time.Sleep(time.Minute)
		infos, err := admin.Inspect(t.Context(), l, "shop:", 10)
		wantIs(t, err)
		if len(infos) != 1 || infos[0].Key != "shop:a" || infos[0].Held != 1 {
			t.Fatalf("there are %+v", infos)
		}
		if h := infos[0].Holders[0]; h.Token != held.Token() || !h.Since.Equal(start) || h.ExpiresIn <= 0 || h.Owner != admin.Fingerprint(held) {
			t.Errorf("the holder is %+v", h)
		}
		if infos, err := admin.Inspect(t.Context(), l, "other:", 10); err != nil || len(infos) != 0 {
			t.Errorf("there are %+v, %v", infos, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		wantIs(t, testkit.ErrorOf(admin.Inspect(ctx, l, "", 10)), context.Canceled)
		for _, limit := range []int{0, -1} {
			if _, err := admin.Inspect(t.Context(), l, "", limit); err == nil {
				t.Errorf("a limit of %d is no error", limit)
			}
		}
	})
}

// A holder of the Locker that takes the key away learns of it at once, another at its next
// renewal; the waiter has the key by then.
func TestForceRelease(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		deposed := testkit.MustAcquire(t, l, "k", distlock.Opts{KeyTimeout: 30 * time.Second})
		rival := testkit.NewLocker(t, s, distlock.Config{})
		got := inBackground(t, rival, distlock.Opts{})

		start := time.Now()
		held, err := admin.ForceRelease(t.Context(), rival, "k")
		wantIs(t, err)
		next := <-got
		if !held || next.Token() <= deposed.Token() || time.Since(start) != 0 {
			t.Errorf("held %v, token %d after token %d, after %v", held, next.Token(), deposed.Token(), time.Since(start))
		}
		<-deposed.Context().Done()
		if d := time.Since(start); d > 10*time.Second {
			t.Errorf("told after %v", d)
		}
		wantIs(t, context.Cause(deposed.Context()), distlock.ErrLost)
		wantIs(t, deposed.Release(t.Context()), distlock.ErrLost)
		wantIs(t, next.Check())
		wantIs(t, next.Release(t.Context()))

		if held, err := admin.ForceRelease(t.Context(), l, "k"); held || err != nil {
			t.Errorf("a free key: %v, %v", held, err)
		}

		o := distlock.Opts{Permits: 2}
		own := []*distlock.Lease{testkit.MustAcquire(t, l, "k", o), testkit.MustAcquire(t, l, "k", o)}
		other := testkit.MustAcquire(t, l, "other", o)
		got = inBackground(t, rival, o)
		s.Fail(testkit.ErrBroken, testkit.Force)
		wantIs(t, testkit.ErrorOf(admin.ForceRelease(t.Context(), l, "k")), distlock.ErrUnavailable, testkit.ErrBroken)
		for _, lease := range own {
			wantIs(t, lease.Check()) // nothing is known
		}
		s.Fail(nil)
		wantIs(t, testkit.ErrorOf(admin.ForceRelease(t.Context(), l, "k")))
		for _, lease := range own {
			wantIs(t, lease.Check(), distlock.ErrLost)
			wantIs(t, lease.Release(t.Context()), distlock.ErrLost)
		}
		wantIs(t, other.Check())
		wantIs(t, other.Release(t.Context()))
		next = <-got
		wantIs(t, next.Check())
		wantIs(t, next.Release(t.Context()))
		wantIs(t, testkit.ErrorOf(admin.ForceRelease(t.Context(), l, "")), distlock.ErrKey)
		wantIs(t, testkit.ErrorOf(admin.Revoke(t.Context(), l, "")), distlock.ErrKey)
	})
}

// Who gets the key of this process while a forced release is on its way back is not told of it.
func TestForceReleaseAndALaterHolder(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
		var later *distlock.Lease
		s.After(func(_ context.Context, c *testkit.Call) error {
			if c.Op == testkit.Force {
				_ = held.Release(t.Context())
				later = testkit.MustAcquire(t, l, "k", distlock.Opts{})
			}
			return nil
		})
		wantIs(t, testkit.ErrorOf(admin.ForceRelease(t.Context(), l, "k")))
		wantIs(t, later.Check())
		wantIs(t, later.Release(t.Context()))
	})
}

func TestInspectErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := testkit.NewStore()
		testkit.MustAcquire(t, testkit.NewLocker(t, broken, distlock.Config{}), "k", distlock.Opts{}) // found before
		broken.After(func(context.Context, *testkit.Call) error { return testkit.ErrBroken })
		for name, c := range map[string]struct {
			backend driver.Backend
			closed  bool
			want    []error
		}{
			"unsupported": {backend: testkit.NewStore().Only(0)},
			"broken":      {backend: broken, want: []error{distlock.ErrUnavailable, testkit.ErrBroken}},
			"closed":      {backend: testkit.NewStore(), closed: true, want: []error{distlock.ErrClosed}},
		} {
			t.Log(name)
			l := distlock.New(c.backend, distlock.Config{})
			if name == "unsupported" {
				held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
				if held.Revoked() != nil {
					t.Error("there is a channel that is never ready")
				}
				wantIs(t, held.Release(t.Context()))
			}
			if c.closed {
				wantIs(t, l.Close())
			}
			infos, err := admin.Inspect(t.Context(), l, "k", 1)
			_, err2 := admin.ForceRelease(t.Context(), l, "k")
			_, err3 := admin.Revoke(t.Context(), l, "k")
			for _, err := range []error{err, err2, err3} {
				if err == nil || keyOf(err) != "k" || errors.Is(err, errors.ErrUnsupported) != (name == "unsupported") {
					t.Errorf("the error is %v", err)
				}
				if c.want != nil {
					wantIs(t, err, c.want...)
				}
			}
			if name == "broken" && len(infos) != 1 {
				t.Error("what was found before is gone")
			}
			if !c.closed {
				wantIs(t, l.Close())
			}
		}
	})
}

// A holder that listens is told at once, and gives the key to the waiter. One that does not
// listen keeps it.
func TestRevoke(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		rival := testkit.NewLocker(t, s, distlock.Config{})
		held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
		wantIs(t, l.Do(held.Context(), "k", distlock.Opts{}, func(ctx context.Context) error {
			inner, _ := distlock.FromContext(ctx)
			if inner.Revoked() != held.Revoked() {
				t.Error("a re-entry has a channel of its own")
			}
			return nil
		}))
		next := inBackground(t, rival, distlock.Opts{})
		select {
		case <-held.Revoked():
			t.Error("the holder was asked by a waiter")
		default:
		}

		asked, err := admin.Revoke(t.Context(), rival, "k")
		wantIs(t, err)
		if !asked {
			t.Error("the key is held, but Revoke says that it is not")
		}
		<-held.Revoked()
		wantIs(t, held.Check()) // nothing was taken away
		wantIs(t, held.Release(t.Context()))
		late := <-next
		select {
		case <-late.Revoked():
			t.Error("the next holder was told of the request to the one before")
		case <-time.After(time.Minute):
		}
		wantIs(t, late.Release(t.Context()))

		// Within Config.HandOverTime, a waiter of the same process would have the same lease.
		// It does not matter that only a re-entry listens.
		held = testkit.MustAcquire(t, l, "k", distlock.Opts{})
		var revoked <-chan struct{}
		wantIs(t, l.Do(held.Context(), "k", distlock.Opts{}, func(ctx context.Context) error {
			inner, _ := distlock.FromContext(ctx)
			revoked = inner.Revoked()
			return nil
		}))
		next = inBackground(t, l, distlock.Opts{})
		wantIs(t, testkit.ErrorOf(admin.Revoke(t.Context(), l, "k")))
		<-revoked
		wantIs(t, held.Release(t.Context()))
		late = <-next
		select {
		case <-late.Revoked():
			t.Error("the next holder of this process was told of the request to the one before")
		default:
		}
		wantIs(t, late.Release(t.Context()))

		asked, err = admin.Revoke(t.Context(), l, "k")
		if wantIs(t, err); asked {
			t.Error("the key is free, but Revoke says that it is held")
		}
	})
}

// The random part of an owner is a UUID, and the name after it comes from the Config.
func TestOwnerNamesTheHolder(t *testing.T) {
	for _, c := range []struct {
		holder string
		want   func(name string) bool
	}{
		{"", func(name string) bool { return name != "" && strings.Contains(name, "/") }},
		{"-", func(name string) bool { return name == "" }},
		{"billing.eu-1/7", func(name string) bool { return name == "billing.eu-1/7" }},
		{strings.Repeat("n", 65), func(name string) bool { return name == strings.Repeat("n", 64) }},
		{"web 3@\u00fc:", func(name string) bool { return name == "web_3___" }},
	} {
		s := testkit.NewStore()
		l := distlock.New(s, distlock.Config{Holder: c.holder})
		lease := testkit.MustAcquire(t, l, "k", distlock.Opts{})
		owner := s.Calls(testkit.Enqueue)[0].Owner
		id, name, _ := strings.Cut(owner, "@")
		if err := uuid.Validate(id); err != nil {
			t.Errorf("owner %q: %v", owner, err)
		}
		if !c.want(name) || driver.HolderOf(owner) != name {
			t.Errorf("Holder %q: owner %q, HolderOf is %q", c.holder, owner, driver.HolderOf(owner))
		}
		infos, err := admin.Inspect(t.Context(), l, "k", 1)
		if err != nil || len(infos) != 1 || infos[0].Holders[0].Holder != name {
			t.Errorf("Holder %q: Inspect says %+v, %v", c.holder, infos, err)
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Error(err)
		}
		wantIs(t, l.Close())
	}
}
