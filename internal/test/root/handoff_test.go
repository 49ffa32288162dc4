package test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/bridge"
	"github.com/distlock-go/distlock/internal/leasestate"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

func mustHandOff(t *testing.T, lease *distlock.Lease) string {
	t.Helper()
	handle, err := lease.HandOff(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return handle
}

func mustAdopt(t *testing.T, l *distlock.Locker, handle string, o distlock.Opts) *distlock.Lease {
	t.Helper()
	lease, err := l.Adopt(t.Context(), handle, o)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

// The giver's lease ends before there is a handle, and what it still does touches nothing: not
// even a renewal that was on its way.
func TestHandOff(t *testing.T) {
	for name, o := range map[string]distlock.Opts{"exclusive": {}, "permits": {Permits: 1}} {
		bubbleCase(t, name, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
			heir := testkit.NewLocker(t, s, distlock.Config{Holder: "heir"})
			giver := testkit.MustAcquire(t, l, "k", o)
			s.After(func(_ context.Context, c *testkit.Call) error { // a store need not know the tokens
				if c.Request.From != "" {
					c.Grants[0].Token, c.Grants[0].LastToken = 0, 0
				}
				return nil
			})
			s.Delay(3*time.Second, testkit.Renew)
			time.Sleep(3 * time.Second) // a renewal is on its way
			handle := mustHandOff(t, giver)
			wantIs(t, context.Cause(giver.Context()), leasestate.ErrHandedOff)
			if strings.Trim(handle, "-._0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
				t.Errorf("the handle is %q", handle)
			}
			lease := mustAdopt(t, heir, handle, distlock.Opts{})
			sent := len(s.Calls(testkit.Renew, testkit.Release))
			wantIs(t, giver.Check(), leasestate.ErrHandedOff)
			wantIs(t, giver.Refresh(t.Context()), leasestate.ErrHandedOff)
			wantIs(t, giver.Step(t.Context(), distlock.Step{Do: func(context.Context) error { t.Error("Do runs"); return nil }}), leasestate.ErrHandedOff)
			wantIs(t, testkit.ErrorOf(giver.HandOff(t.Context())), leasestate.ErrHandedOff)
			wantIs(t, giver.Release(t.Context()))
			wantIs(t, testkit.ErrorOf(giver.HandOff(t.Context())), leasestate.ErrHandedOff)
			if n := len(s.Calls(testkit.Renew, testkit.Release)); n != sent {
				t.Errorf("the giver has sent %d requests", n-sent)
			}
			if lease.Token() != giver.Token() {
				t.Errorf("token %d, and then %d", giver.Token(), lease.Token())
			}
			time.Sleep(time.Hour) // it is renewed
			wantIs(t, lease.Check())
			wantIs(t, testkit.ErrorOf(l.TryAcquire(t.Context(), "k", o)), distlock.ErrNotAcquired)
			found, err := admin.Inspect(t.Context(), l, "k", 1)
			if wantIs(t, err); len(found) != 1 || found[0].Held != 1 || found[0].Holders[0].Holder != "heir" || found[0].Holders[0].Token > lease.Token() {
				t.Errorf("Inspect: %+v", found)
			}
			wantIs(t, lease.Release(t.Context()))
			wantIs(t, heir.Close())
			nothingLeft(t, l, s)
		})
	}
}

// Of two that adopt, one gets the lease, also if replies are lost.
func TestAdoptOnce(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		first, second := testkit.NewLocker(t, s, distlock.Config{}), testkit.NewLocker(t, s, distlock.Config{})
		giver := testkit.MustAcquire(t, l, "k", distlock.Opts{})
		handle := mustHandOff(t, giver)
		s.LoseReplies(testkit.Try, 2)
		lease := mustAdopt(t, first, handle, distlock.Opts{})
		for _, other := range []*distlock.Locker{second, first} {
			_, err := other.Adopt(t.Context(), handle, distlock.Opts{RetryInterval: time.Millisecond})
			wantIs(t, err, map[*distlock.Locker]error{second: distlock.ErrLost, first: distlock.ErrNotAcquired}[other])
		}
		next := mustHandOff(t, lease)
		wantIs(t, testkit.ErrorOf(first.Adopt(lease.Context(), next, distlock.Opts{})), distlock.ErrReentry)
		wantIs(t, lease.Release(t.Context()))
		wantIs(t, testkit.ErrorOf(first.Adopt(t.Context(), handle, distlock.Opts{})), distlock.ErrLost)
		wantIs(t, mustAdopt(t, first, next, distlock.Opts{}).Release(t.Context()))
		wantIs(t, giver.Release(t.Context()))
		nothingLeft(t, l, s)
	})
}

// What is in doubt is said, and given back: never does nobody have the key for longer than a
// lease, and never do two.
func TestAdoptInDoubt(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		heir := testkit.NewLocker(t, s, distlock.Config{})
		giver := testkit.MustAcquire(t, l, "k", distlock.Opts{})
		handle := mustHandOff(t, giver)
		s.LoseReplies(testkit.Try, 1)
		_, err := heir.Adopt(t.Context(), handle, distlock.Opts{MaxWait: time.Millisecond, RetryCount: 1})
		if wantIs(t, err, distlock.ErrUnavailable, testkit.ErrBroken); !strings.Contains(err.Error(), "in doubt") {
			t.Error(err)
		}
		wantIs(t, giver.Release(t.Context()))
		time.Sleep(time.Second)
		wantIs(t, testkit.ErrorOf(heir.Adopt(t.Context(), handle, distlock.Opts{})), distlock.ErrLost)
		wantIs(t, heir.Close())
		nothingLeft(t, l, s)
	})
}

// A caller of the giver's process waits until the giver's function has returned, and then for
// the new holder.
func TestHandOffKeepsTheGate(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		heir := testkit.NewLocker(t, s, distlock.Config{})
		var lease *distlock.Lease
		var waiter <-chan *distlock.Lease
		wantIs(t, l.Do(t.Context(), "k", distlock.Opts{}, func(ctx context.Context) error {
			waiter = inBackground(t, l, distlock.Opts{})
			giver, _ := distlock.FromContext(ctx)
			lease = mustAdopt(t, heir, mustHandOff(t, giver), distlock.Opts{})
			wantIs(t, context.Cause(ctx), leasestate.ErrHandedOff)
			wantIs(t, lease.Release(t.Context()))
			time.Sleep(time.Minute)
			mustWait(t, waiter)
			lease = testkit.MustAcquire(t, heir, "k", distlock.Opts{})
			return nil
		}))
		time.Sleep(time.Minute)
		mustWait(t, waiter)
		local := inBackground(t, heir, distlock.Opts{}) // is handed over what was adopted, or not: behind the waiter
		wantIs(t, lease.Release(t.Context()))
		wantIs(t, mustGet(t, waiter).Release(t.Context()))
		wantIs(t, mustGet(t, local).Release(t.Context()))
		nothingLeft(t, l, s)
	})
}

// A handle that nobody adopts ends with the lease, unless it is renewed. MaxHold travels.
func TestHandleEnds(t *testing.T) {
	for name, c := range map[string]struct {
		opts distlock.Opts
		lead time.Duration // under the lease before
		ends time.Duration
	}{
		"lease":             {ends: time.Minute + distlock.DefaultKeyTimeout},
		"MaxHold":           {distlock.Opts{MaxHold: 40 * time.Second}, 5 * time.Second, 35 * time.Second},
		"a longer MaxHold":  {distlock.Opts{MaxHold: time.Hour, KeyTimeout: time.Minute}, 0, 2 * time.Minute},
		"MaxHold of Permit": {distlock.Opts{MaxHold: 40 * time.Second, Permits: 2}, 0, 40 * time.Second},
	} {
		bubbleCase(t, name, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
			heir := testkit.NewLocker(t, s, distlock.Config{})
			giver := testkit.MustAcquire(t, l, "k", c.opts)
			time.Sleep(c.lead)
			handle := mustHandOff(t, giver)
			wantIs(t, giver.Release(t.Context()))
			start := time.Now()
			for time.Since(start) < time.Minute { // as a shell does
				if _, err := admin.Renew(t.Context(), heir, handle); err != nil {
					wantIs(t, err, distlock.ErrLost)
					break
				}
				time.Sleep(3 * time.Second)
			}
			if c.opts.MaxHold == time.Hour {
				lease := mustAdopt(t, heir, handle, distlock.Opts{})
				time.Sleep(time.Hour - time.Since(start) - time.Nanosecond)
				wantIs(t, lease.Check())
				time.Sleep(time.Nanosecond)
				wantIs(t, lease.Check(), distlock.ErrLost)
				wantIs(t, lease.Release(t.Context()), distlock.ErrLost)
				return
			}
			_, err := l.Acquire(t.Context(), "k", distlock.Opts{MaxWait: 5 * time.Minute})
			if took := time.Since(start); err != nil || took > c.ends+2*time.Second || took < c.ends-3*time.Second {
				t.Errorf("free after %v, %v; want %v", took, err, c.ends)
			}
			wantIs(t, testkit.ErrorOf(heir.Adopt(t.Context(), handle, distlock.Opts{})), distlock.ErrLost)
			if _, err := admin.Renew(t.Context(), heir, handle); !errors.Is(err, distlock.ErrLost) || errors.Is(err, distlock.ErrUnavailable) {
				t.Errorf("renewed then: %v", err)
			}
		})
	}
}

// What cannot be handed off or adopted is refused by name, and leaves the lease as it is.
func TestHandOffIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		refused := func(lease *distlock.Lease, why string) {
			t.Helper()
			if _, err := lease.HandOff(t.Context()); err == nil || !strings.Contains(err.Error(), why) || !distlock.Ran(err) {
				t.Errorf("error %v, want %s", err, why)
			}
			wantIs(t, lease.Check())
			wantIs(t, lease.Release(t.Context()))
		}
		outer := testkit.MustAcquire(t, l, "k", distlock.Opts{})
		inner, err := l.Acquire(outer.Context(), "k", distlock.Opts{})
		wantIs(t, err)
		refused(inner, "the lease that this one re-enters")
		outer.Context().Value(leasestate.Binder{}).(func())()
		refused(outer, "a transaction is guarded")
		refused(testkit.MustAcquire(t, l, "k", reading), "the lease of a reader")
		refused(testkit.MustAcquire(t, l, "k", distlock.Opts{MinHold: time.Millisecond}), "MinHold")
		time.Sleep(time.Second)
		s.SetFeatures(driver.Features{Sharing: true})
		plain := testkit.NewLocker(t, s, distlock.Config{})
		refused(testkit.MustAcquire(t, plain, "k", distlock.Opts{}), "the backend *testkit.Store cannot pass a lease")
		lease := testkit.MustAcquire(t, l, "k", distlock.Opts{})
		s.Fail(testkit.ErrBroken, testkit.Renew)
		refused(lease, "unavailable")
		s.Fail(nil)

		handle := mustHandOff(t, testkit.MustAcquire(t, l, "p", permit))
		for _, text := range []string{"", "distlock2" + handle[9:], handle[:20] + "x" + handle[21:], handle[:len(handle)-1]} {
			_, err := l.Adopt(t.Context(), text, distlock.Opts{})
			if distlock.CodeOf(err) != distlock.CodeOptions || text != "" && strings.Contains(err.Error(), text[9:]) {
				t.Errorf("%q: %v", text, err)
			}
		}
		for _, o := range []distlock.Opts{{Permits: 2}, reading, {MinHold: -1}} {
			if _, err := l.Adopt(t.Context(), handle, o); distlock.CodeOf(err) != distlock.CodeOptions {
				t.Errorf("with %+v: %v", o, err)
			}
		}
		wantIs(t, testkit.ErrorOf(plain.Adopt(t.Context(), handle, distlock.Opts{})), errors.ErrUnsupported)
		for _, owner := range []string{"", "try", "enqueue", "@" + strings.Repeat("x", 40)} { // words of a store's own
			_, err := l.Adopt(t.Context(), bridge.Seal("distlock1.", nil, map[string]string{"k": "k", "o": owner}), distlock.Opts{})
			if distlock.CodeOf(err) != distlock.CodeOptions {
				t.Errorf("of the owner %q: %v", owner, err)
			}
		}
	})
}

// Without a token, Fencing refuses a handle before the store is asked: it stays good.
func TestAdoptWithFencing(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		s.After(func(_ context.Context, c *testkit.Call) error {
			for i := range c.Grants {
				c.Grants[i].Token, c.Grants[i].LastToken = 0, 0
			}
			return nil
		})
		giver := testkit.MustAcquire(t, l, "k", distlock.Opts{})
		handle := mustHandOff(t, giver)
		wantIs(t, giver.Release(t.Context()))
		wantIs(t, testkit.ErrorOf(l.Adopt(t.Context(), handle, distlock.Opts{Fencing: true})), distlock.ErrNoFencing)
		wantIs(t, mustAdopt(t, l, handle, distlock.Opts{}).Release(t.Context()))
	})
}

// The hooks are told that the giver has released its lease and that the heir has acquired one;
// Lead and DoAll go on.
func TestHandOffOfLeadAndDoAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told atomic.Value
		told.Store("")
		s := testkit.NewStore()
		cfg := distlock.Config{Hooks: distlock.Hooks{Event: func(_ context.Context, e distlock.Event) {
			if e.Kind != distlock.Waiting && e.Kind != distlock.Renewed {
				told.Store(told.Load().(string) + string(e.Kind) + " ")
			}
		}}}
		l, heir := testkit.NewLocker(t, s, cfg), testkit.NewLocker(t, s, cfg)
		wantIs(t, l.DoAll(t.Context(), []string{"a", "b"}, distlock.Opts{}, func(ctx context.Context) error {
			outer, _ := distlock.Held(ctx, "a")
			lease := mustAdopt(t, heir, mustHandOff(t, outer), distlock.Opts{})
			wantIs(t, context.Cause(ctx), leasestate.ErrHandedOff)
			return lease.Release(t.Context())
		}))
		if got, want := told.Load(), "acquired acquired acquired released released released "; got != want {
			t.Errorf("told of %v, want %v", got, want)
		}
		ctx, cancel := context.WithCancel(t.Context())
		terms := 0
		wantIs(t, l.Lead(ctx, "k", distlock.Opts{}, func(ctx context.Context) error {
			if terms++; terms == 2 {
				cancel()
				return nil
			}
			term, _ := distlock.FromContext(ctx)
			lease := mustAdopt(t, heir, mustHandOff(t, term), distlock.Opts{})
			time.AfterFunc(time.Minute, func() { wantIs(t, lease.Release(context.WithoutCancel(t.Context()))) })
			return nil
		}), context.Canceled)
	})
}
