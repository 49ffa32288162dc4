package test

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// lame returns hooks in which the named hook calls how, only in goroutines of the test
// and for the second key, if there are two.
func lame(hook string, how func()) distlock.Hooks {
	end := func(ctx context.Context, name, key string) {
		if name == hook && key != "a" && ctx.Value(ctxKey{}) == "lame" {
			how()
		}
	}
	return distlock.Hooks{
		Start: func(ctx context.Context, i distlock.Event) context.Context {
			end(ctx, "Start", i.Key)
			return ctx
		},
		Event: testkit.On{
			distlock.Acquired: func(ctx context.Context, i distlock.Event) { end(ctx, "Acquired", i.Key) },
			distlock.Failed:   func(ctx context.Context, i distlock.Event) { end(ctx, "Failed", i.Key) },
			distlock.Released: func(ctx context.Context, i distlock.Event) { end(ctx, "Released", i.Key) },
		}.Event,
	}
}

// A hook that panics or exits does no harm: the panic continues, all keys are released
// once, the next callers enter one after the other, and Close does not wait.
func TestHookThatPanics(t *testing.T) {
	keys := []string{"a", "b", "c"}
	var o distlock.Opts
	work := func(context.Context) error { return nil }
	operations := map[string]func(ctx context.Context, l *distlock.Locker, inside func(context.Context) error){
		"Do": func(ctx context.Context, l *distlock.Locker, inside func(context.Context) error) {
			_ = l.Do(ctx, "b", o, inside)
		},
		"Do after a panic": func(ctx context.Context, l *distlock.Locker, inside func(context.Context) error) {
			_ = l.Do(ctx, "b", o, func(ctx context.Context) error { _ = inside(ctx); panic("the function") })
		},
		"MinHold": func(ctx context.Context, l *distlock.Locker, inside func(context.Context) error) {
			_ = l.Do(ctx, "b", distlock.Opts{MinHold: time.Second}, inside)
		},
		"Shared": func(ctx context.Context, l *distlock.Locker, inside func(context.Context) error) {
			_ = l.Do(ctx, "b", distlock.Opts{Mode: distlock.Shared}, work)
			_ = l.Do(ctx, "b", o, inside)
		},
		"Release twice": func(ctx context.Context, l *distlock.Locker, inside func(context.Context) error) {
			s, err := l.Acquire(ctx, "b", o)
			if err != nil {
				return
			}
			defer func() { _ = s.Release(ctx) }()
			_ = inside(s.Context())
			_ = s.Release(ctx)
		},
		"re-entry": func(ctx context.Context, l *distlock.Locker, inside func(context.Context) error) {
			_ = l.Do(context.WithValue(ctx, ctxKey{}, nil), "b", o, func(held context.Context) error {
				return l.Do(context.WithValue(held, ctxKey{}, "lame"), "b", o, inside)
			})
		},
		"busy": func(ctx context.Context, l *distlock.Locker, _ func(context.Context) error) {
			_ = l.Do(context.WithValue(ctx, ctxKey{}, nil), "b", o, func(context.Context) error {
				_, _ = l.TryAcquire(ctx, "b", o)
				return nil
			})
		},
		"DoAll": func(ctx context.Context, l *distlock.Locker, inside func(context.Context) error) {
			_ = l.DoAll(ctx, keys, o, inside)
		},
		"DoAll with MinHold": func(ctx context.Context, l *distlock.Locker, inside func(context.Context) error) {
			_ = l.DoAll(ctx, keys, distlock.Opts{MinHold: time.Second}, inside)
		},
		"DoAll, busy": func(ctx context.Context, l *distlock.Locker, inside func(context.Context) error) {
			_ = l.Do(context.WithValue(ctx, ctxKey{}, nil), "b", o, func(context.Context) error {
				_ = l.DoAll(ctx, keys, distlock.Opts{RetryCount: 1}, inside)
				return nil
			})
		},
		"Lead": func(ctx context.Context, l *distlock.Locker, inside func(context.Context) error) {
			_ = l.Lead(ctx, "b", o, func(ctx context.Context) error { _ = inside(ctx); return testkit.ErrBroken })
		},
	}
	for how, end := range map[string]func(){"panic": func() { panic("a hook") }, "Goexit": runtime.Goexit} {
		for _, hook := range []string{"none", "Start", "Acquired", "Failed", "Released"} {
			for name, operation := range operations {
				t.Run(name+"/"+hook+"/"+how, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { surviveHook(t, lame(hook, end), operation) })
				})
			}
		}
	}
}

func surviveHook(
	t *testing.T, h distlock.Hooks, operation func(context.Context, *distlock.Locker, func(context.Context) error),
) {
	t.Helper()
	s := testkit.NewStore()
	l := distlock.New(s, distlock.Config{Hooks: h})
	var mu sync.Mutex
	holders, served := 0, 0
	inside := func(context.Context) error {
		step := func(n int) {
			mu.Lock()
			defer mu.Unlock()
			if holders += n; holders > 1 {
				t.Error("two holders at once")
			}
		}
		step(1)
		time.Sleep(10 * time.Millisecond)
		step(-1)
		return nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			done := make(chan struct{})
			go func() {
				defer close(done)
				defer func() { _ = recover() }()
				operation(context.WithValue(ctx, ctxKey{}, "lame"), l, inside)
			}()
			<-done
		})
		for range 2 {
			all.Go(func() {
				wantIs(t, l.Do(ctx, "b", distlock.Opts{}, func(ctx context.Context) error {
					served++
					return inside(ctx)
				}))
			})
		}
	}
	all.Wait()
	time.Sleep(2 * time.Second) // MinHold
	synctest.Wait()
	if served != 4 {
		t.Errorf("%d served", served)
	}
	mustCloseAtOnce(t, l)
	mustBeFree(t, s, "a", "b", "c")
	released := map[[2]string]bool{}
	for _, c := range s.Calls(testkit.Release) {
		if released[[2]string{c.Key, c.Owner}] {
			t.Errorf("%s was released twice", c.Key)
		}
		released[[2]string{c.Key, c.Owner}] = true
	}
	start := time.Now()
	wantIs(t, l.Close())
	wantTook(t, start, 0)
}

// If the hook Acquired panics or exits, no caller gets the lock: its MinHold does not count.
func TestHookThatPanicsLeavesNoMinHold(t *testing.T) {
	for name, how := range map[string]func(){"panic": func() { panic("lame") }, "exit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			hooked(t, lame("Acquired", how), func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
				done := make(chan struct{})
				go func() {
					defer close(done)
					defer func() { _ = recover() }()
					_, _ = l.Acquire(context.WithValue(t.Context(), ctxKey{}, "lame"), "b", distlock.Opts{MinHold: time.Hour})
				}()
				<-done
				mustBeFree(t, s, "b")
			})
		})
	}
}

// The hook of each key gets the outcome for that key.
func TestReleasedOfSeveral(t *testing.T) {
	var e events
	hooked(t, e.hooks("span"), func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		m := mustAcquireAll(t, l, t.Context(), "a", "b", "c")
		e.lines = nil
		s.Steal(t, "a")
		wantIs(t, m.Leases[1].Release(t.Context())) // was reported there
		wantIs(t, m.Release(), distlock.ErrLost)
		synctest.Wait()
		e.lines = slices.DeleteFunc(e.lines, func(line string) bool { return strings.HasPrefix(line, "lost") })
		e.want(t,
			"released unnamed b exclusive/0 2 after 0s again=false term=false lost=false in span",
			"released unnamed c exclusive/0 3 after 0s again=false term=false lost=false in span",
			"released unnamed a exclusive/0 1 after 0s again=false term=false lost=true in span",
		)
	})
}

// A hook that exits in the background does not prevent the renewals of other leases or
// the calls of their hooks.
func TestBackgroundHookThatExits(t *testing.T) {
	var mu sync.Mutex
	var lost, failed []string
	h := distlock.Hooks{
		Event: testkit.On{
			distlock.Lost: func(_ context.Context, i distlock.Event) {
				mu.Lock()
				defer mu.Unlock()
				lost = append(lost, i.Key)
				runtime.Goexit()
			},
			distlock.Renewed: func(_ context.Context, i distlock.Event) {
				mu.Lock()
				defer mu.Unlock()
				if i.Err != nil {
					failed = append(failed, i.Key)
				}
				runtime.Goexit()
			},
		}.Event,
	}
	hooked(t, h, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		var leases []*distlock.Lease
		for _, o := range []distlock.Opts{
			{Value: "b", MaxHold: time.Second}, {Value: "c"},
			{Value: "d", Mode: distlock.Shared}, {Value: "d", Mode: distlock.Shared},
		} {
			o.KeyTimeout = time.Second
			key := o.Value
			o.Value = ""
			leases = append(leases, testkit.MustAcquire(t, l, key, o))
		}
		time.Sleep(5 * time.Second) // b has ended
		wantIs(t, leases[1].Check())
		s.Memory().Drop("d")
		time.Sleep(time.Second)
		s.Fail(testkit.ErrBroken, testkit.Renew)
		<-leases[1].Context().Done()
		synctest.Wait()
		slices.Sort(lost)
		if want := []string{"b", "c", "d", "d"}; !slices.Equal(lost, want) {
			t.Errorf("told that %q were lost, want %q", lost, want)
		}
		if len(failed) == 0 || slices.ContainsFunc(failed, func(key string) bool { return key != "c" }) {
			t.Errorf("told that %q were not renewed", failed)
		}
		for _, lease := range leases {
			wantIs(t, lease.Release(t.Context()), distlock.ErrLost)
		}
	})
}
