package test

import (
	"context"
	"reflect"
	"runtime"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// Hooks that begin something are called in order, hooks that end it in reverse order.
// Every Start gets the context of the previous one.
func TestJoinHooks(t *testing.T) {
	var e events
	named := func(name string) distlock.Hooks {
		note := func(ctx context.Context, i distlock.Event) { e.note("%s %s %v", name, i.Kind, ctx.Value(ctxKey{})) }
		return distlock.Hooks{
			Start: func(ctx context.Context, i distlock.Event) context.Context {
				note(ctx, i)
				return context.WithValue(ctx, ctxKey{}, name)
			},
			Event: note,
		}
	}
	h := distlock.JoinHooks(named("a"), distlock.Hooks{}, named("b"))
	hooked(t, h, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		h.Event(t.Context(), distlock.Event{Kind: distlock.Waiting})
		e.want(t, "a waiting <nil>", "b waiting <nil>")
		_ = l.Lead(t.Context(), "k", distlock.Opts{KeyTimeout: time.Second}, func(ctx context.Context) error {
			_, _ = l.TryAcquire(t.Context(), "k", distlock.Opts{})
			e.want(t, "a  <nil>", "b  a", "a acquired b", "b acquired b",
				"a  <nil>", "b  a", "b failed b", "a failed b")
			s.Fail(testkit.ErrBroken, testkit.Renew)
			time.Sleep(time.Second / 3)
			e.want(t, "a renewed b", "b renewed b")
			held, _ := distlock.FromContext(ctx)
			s.Fail(nil)
			mustLose(t, s, held)
			e.want(t, "a lost b", "b lost b")
			return testkit.ErrBroken
		})
		e.want(t, "b released b", "a released b")
	})
	all := distlock.Hooks{Event: func(context.Context, distlock.Event) {}}
	some := distlock.Hooks{Event: all.Event, NoWaiting: true}
	if !distlock.JoinHooks(some, distlock.Hooks{}, some).NoWaiting || distlock.JoinHooks(some, all).NoWaiting || distlock.JoinHooks(all, some).NoWaiting {
		t.Error("NoWaiting is not that of all hooks")
	}
	for _, none := range []distlock.Hooks{distlock.JoinHooks(), distlock.JoinHooks(distlock.Hooks{}, distlock.Hooks{})} {
		if !reflect.ValueOf(none).IsZero() {
			t.Error("hooks that are nil are called") // they would cost time and read the clock
		}
	}
}

// If a Start does not return, the acquisition has failed for the hooks before it.
func TestJoinedStartPanics(t *testing.T) {
	for how, end := range map[string]func(){"panic": func() { panic("a hook") }, "Goexit": runtime.Goexit} {
		t.Run(how, func(t *testing.T) {
			var e events
			first := e.hooks("span")
			last := e.hooks("never")
			last.Start = func(context.Context, distlock.Event) context.Context { end(); return nil }
			hooked(t, distlock.JoinHooks(distlock.Hooks{}, first, last, e.hooks("after")), func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
				done := make(chan any)
				go func() {
					defer func() { done <- recover() }()
					_ = l.Do(t.Context(), "k", distlock.Opts{}, func(context.Context) error { panic("ran") })
				}()
				if r := <-done; how == "panic" && r != "a hook" {
					t.Errorf("panicked with %v", r)
				}
				e.want(t, "start unnamed k exclusive/0  in <nil>", "failed unnamed k exclusive/0 after 0s busy=false in span")
				mustBeFree(t, s, "k")
			})
		})
	}
}

// Joined hooks do not allocate.
func TestJoinedHooksAllocateNothing(t *testing.T) {
	h := distlock.Hooks{
		Start: func(ctx context.Context, _ distlock.Event) context.Context { return ctx },
		Event: func(context.Context, distlock.Event) {},
	}
	h = distlock.JoinHooks(h, h, h)
	if n := testing.AllocsPerRun(100, func() {
		ctx := h.Start(context.Background(), distlock.Event{})
		h.Event(ctx, distlock.Event{Kind: distlock.Acquired})
		h.Event(ctx, distlock.Event{Kind: distlock.Released})
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
