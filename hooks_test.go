package distlock_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/testkit"
)

// events records the calls of hooks, one line each.
type events struct {
	mu    sync.Mutex
	lines []string
}

func (e *events) note(format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lines = append(e.lines, fmt.Sprintf(format, args...))
}

// want checks the calls since the last call of want.
func (e *events) want(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	if !slices.Equal(e.lines, want) {
		t.Errorf("events:\n%q\nwant:\n%q", e.lines, want)
	}
	e.lines = nil
}

// hooks record every event, with the span that Start has put into the context.
func (e *events) hooks(span string) distlock.Hooks {
	note := func(ctx context.Context, what string, i distlock.LockInfo, format string, args ...any) {
		e.note("%s %s %s %v/%d "+format+" in %v", append(append([]any{what, i.Name, i.Key, i.Mode, i.Permits}, args...), ctx.Value(ctxKey{}))...)
	}
	return distlock.Hooks{
		Start: func(ctx context.Context, i distlock.LockInfo) context.Context {
			note(ctx, "start", i, "")
			return context.WithValue(ctx, ctxKey{}, span)
		},
		Acquired: func(ctx context.Context, i distlock.AcquiredInfo) {
			note(ctx, "acquired", i.LockInfo, "%d after %v again=%v", i.Token, i.Wait, i.Reentrant)
		},
		Failed: func(ctx context.Context, i distlock.FailedInfo) {
			note(ctx, "failed", i.LockInfo, "after %v busy=%v", i.Wait, errors.Is(i.Err, distlock.ErrNotAcquired))
		},
		Renewed: func(ctx context.Context, i distlock.RenewedInfo) {
			note(ctx, "renewed", i.LockInfo, "%d after %v, %v left: %v", i.Token, i.Held, i.Left, i.Err)
		},
		Lost: func(ctx context.Context, i distlock.LostInfo) {
			note(ctx, "lost", i.LockInfo, "%d after %v: %v", i.Token, i.Held, i.Err)
		},
		Released: func(ctx context.Context, i distlock.ReleasedInfo) {
			note(ctx, "released", i.LockInfo, "%d after %v again=%v term=%v lost=%v", i.Token, i.Held, i.Reentrant, i.Term, errors.Is(i.Err, distlock.ErrLost))
		},
	}
}

// hooked runs f in virtual time with a Locker that has hooks.
func hooked(t *testing.T, h distlock.Hooks, f func(t *testing.T, l *distlock.Locker, s *testkit.Store)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		l := testkit.NewLocker(t, s, distlock.Config{HandOverTime: -1, Hooks: h})
		f(t, l, s)
	})
}

func TestHooks(t *testing.T) {
	var e events
	hooked(t, e.hooks("span"), func(t *testing.T, l *distlock.Locker, _ *testkit.Store) {
		o := distlock.Opts{Prefix: "shop:", Value: "pay"}
		_ = l.Do(t.Context(), "7", o, func(ctx context.Context) error {
			if ctx.Value(ctxKey{}) != "span" {
				t.Error("the span did not reach the function")
			}
			time.Sleep(time.Second)
			_, _ = l.TryAcquire(t.Context(), "7", o)
			return l.Do(context.WithValue(ctx, ctxKey{}, "outer"), "7", distlock.Opts{Prefix: "shop:"}, func(context.Context) error {
				time.Sleep(time.Second)
				return nil
			})
		})
		e.want(t,
			"start shop:pay shop:7 exclusive/0  in <nil>",
			"acquired shop:pay shop:7 exclusive/0 1 after 0s again=false in span",
			"start shop:pay shop:7 exclusive/0  in <nil>",
			"failed shop:pay shop:7 exclusive/0 after 0s busy=true in span",
			"start shop: shop:7 exclusive/0  in outer",
			"acquired shop: shop:7 exclusive/0 1 after 0s again=true in span",
			"released shop: shop:7 exclusive/0 1 after 1s again=true term=false lost=false in span",
			"released shop:pay shop:7 exclusive/0 1 after 2s again=false term=false lost=false in span",
		)

		held := testkit.MustAcquire(t, l, "8", distlock.Opts{KeyTimeout: time.Second, MaxHold: time.Second / 2, Permits: 3})
		<-held.Context().Done()
		synctest.Wait() // the hook is called after the cancellation
		_ = held.Release(t.Context())
		e.want(t,
			"start unnamed 8 exclusive/3  in <nil>",
			"acquired unnamed 8 exclusive/3 2 after 0s again=false in span",
			"lost unnamed 8 exclusive/3 2 after 500ms: lock lost: held for MaxHold, 500ms in span",
			"released unnamed 8 exclusive/3 2 after 500ms again=false term=false lost=true in span",
		)

		_ = l.Lead(t.Context(), "9", distlock.Opts{Mode: distlock.Shared}, func(context.Context) error { return testkit.ErrBroken })
		e.want(t,
			"start unnamed 9 shared/0  in <nil>",
			"acquired unnamed 9 shared/0 3 after 0s again=false in span",
			"released unnamed 9 shared/0 3 after 0s again=false term=true lost=false in span",
		)
	})
}

// The hook is called for each renewal and for each holder of the lease, except for the
// renewal after which the lease is lost.
func TestRenewed(t *testing.T) {
	var told []distlock.RenewedInfo
	var failing bool
	var lost int
	var mu sync.Mutex
	h := distlock.Hooks{
		Renewed: func(ctx context.Context, i distlock.RenewedInfo) {
			mu.Lock()
			defer mu.Unlock()
			lease, ok := distlock.FromContext(ctx)
			if !ok || lease.Token() != i.Token || lease.Check() != nil || i.Left <= 0 || i.Left > time.Until(lease.Until()) {
				t.Errorf("%+v, lease %v", i, ok)
			}
			if failing {
				wantIs(t, i.Err, distlock.ErrUnavailable, testkit.ErrBroken)
			} else if i.Err != nil || i.Held+i.Left < 3*time.Second {
				t.Errorf("a renewal that succeeded: %+v", i)
			}
			told = append(told, i)
		},
		Lost: func(context.Context, distlock.LostInfo) {
			mu.Lock()
			defer mu.Unlock()
			lost++
		},
	}
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		l := testkit.NewLocker(t, s, distlock.Config{Hooks: h})
		o := distlock.Opts{KeyTimeout: 3 * time.Second, Mode: distlock.Shared}
		leases := []*distlock.Lease{testkit.MustAcquire(t, l, "k", o), testkit.MustAcquire(t, l, "k", o)}
		again, err := l.Acquire(leases[0].Context(), "k", o) // not reported
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		mu.Lock()
		if n := len(s.Calls(testkit.Renew)); n < 5 || len(told) != len(leases)*n {
			t.Errorf("%d renewals, %d were told", n, len(told))
		}
		failing, told = true, nil
		mu.Unlock()
		s.Fail(testkit.ErrBroken, testkit.Renew)
		before := len(s.Calls(testkit.Renew))
		<-leases[0].Context().Done()
		synctest.Wait()
		if n := len(s.Calls(testkit.Renew)) - before; n < 5 || len(told) != len(leases)*n || lost != len(leases) {
			t.Errorf("%d renewals, %d were told, %d losses", n, len(told), lost)
		}
		_ = again.Release(t.Context())
		for _, lease := range leases {
			_ = lease.Release(t.Context())
		}

		told = nil // a failed renewal does not matter if the lease is released meanwhile
		held := testkit.MustAcquire(t, l, "r", o)
		renewals := len(s.Calls(testkit.Renew))
		s.Before(func(_ context.Context, c *testkit.Call) error {
			if c.Op != testkit.Renew {
				return nil
			}
			time.Sleep(time.Second / 2)
			return testkit.ErrBroken
		})
		time.Sleep(1100 * time.Millisecond)
		wantIs(t, held.Release(t.Context()))
		time.Sleep(time.Second)
		if n := len(s.Calls(testkit.Renew)) - renewals; n != 1 || len(told) != 0 {
			t.Errorf("%d renewals, %d were told", n, len(told))
		}
		s.Fail(nil)
	})
}

// slowToEnd is a context whose children take as long to be cancelled as until is not closed.
type slowToEnd struct {
	context.Context
	until chan struct{}
}

func (c slowToEnd) Done() <-chan struct{} { return c.until }

// AfterFunc is the method that package context looks for. It calls the function that it
// gets while it cancels a child, after the child is done.
func (c slowToEnd) AfterFunc(func()) func() bool {
	return func() bool {
		<-c.until
		return true
	}
}

// Close waits for the hook Lost, although the function has returned before the loss is
// told.
func TestCloseWaitsForLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := make(chan error, 1)
		l := distlock.New(testkit.NewStore(), distlock.Config{Hooks: distlock.Hooks{
			Lost: func(ctx context.Context, _ distlock.LostInfo) { told <- ctx.Err() },
		}})
		ctx := slowToEnd{t.Context(), make(chan struct{})}
		err := l.Do(ctx, "k", distlock.Opts{MaxHold: time.Second}, func(ctx context.Context) error {
			<-ctx.Done()
			return nil
		})
		wantIs(t, err, distlock.ErrLost)
		closed := make(chan error, 1)
		go func() { closed <- l.Close() }()
		synctest.Wait()
		select {
		case <-closed:
			t.Error("Close does not wait for the hook")
		default:
		}
		close(ctx.until)
		wantIs(t, <-closed)
		select {
		case err := <-told:
			wantIs(t, err, context.Canceled)
		default:
			t.Error("Close returns before the hook is called")
		}
	})
}

// output is a buffer that several goroutines write to.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

// take returns what was written since the last call.
func (o *output) take() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer o.buf.Reset()
	return o.buf.String()
}

func TestLogHooks(t *testing.T) {
	var out output
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
	want := func(t *testing.T, want ...string) {
		t.Helper()
		if got := strings.Split(strings.TrimSpace(out.take()), "\n"); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	h := distlock.LogHooks(log)
	hooked(t, h, func(t *testing.T, l *distlock.Locker, _ *testkit.Store) {
		o := distlock.Opts{Prefix: "shop:", Value: "pay", MaxHold: 500 * time.Millisecond}
		lease := testkit.MustAcquire(t, l, "7", o)
		again, err := l.Acquire(lease.Context(), "7", o)
		wantIs(t, err)
		wantIs(t, again.Release(t.Context()))
		_, _ = l.TryAcquire(t.Context(), "7", o)
		want(t,
			`level=DEBUG msg="lock wanted" name=shop:pay key=shop:7`,
			`level=DEBUG msg="lock acquired" name=shop:pay key=shop:7 token=1 wait=0s reentrant=false handed_over=false`,
			`level=DEBUG msg="lock wanted" name=shop:pay key=shop:7`,
			`level=DEBUG msg="lock acquired" name=shop:pay key=shop:7 token=1 wait=0s reentrant=true handed_over=false`,
			`level=DEBUG msg="lock released" name=shop:pay key=shop:7 token=1 held=0s reentrant=true err=<nil>`,
			`level=DEBUG msg="lock wanted" name=shop:pay key=shop:7`,
			`level=DEBUG msg="lock not acquired" name=shop:pay key=shop:7 wait=0s err="distlock: acquire \"shop:7\": lock not acquired: held by this process, 500ms left"`,
		)
		time.Sleep(time.Second)
		_ = lease.Release(t.Context())
		synctest.Wait() // the loss is logged on another goroutine
		want(t,
			`level=WARN msg="lock lost" name=shop:pay key=shop:7 token=1 held=500ms err="lock lost: held for MaxHold, 500ms"`,
			`level=DEBUG msg="lock released" name=shop:pay key=shop:7 token=1 held=1s reentrant=false err="distlock: release \"shop:7\": lock lost: held for MaxHold, 500ms"`,
		)
	})

	renewal := distlock.RenewedInfo{
		LockInfo: distlock.LockInfo{Name: "job", Key: "job\n1"}, Token: 7, Held: time.Minute, Left: time.Second,
	}
	h.Renewed(t.Context(), renewal)
	renewal.Err = testkit.ErrBroken
	h.Renewed(t.Context(), renewal)
	h.Released(t.Context(), distlock.ReleasedInfo{LockInfo: renewal.LockInfo, Token: 7, Held: time.Hour, Term: true, Err: testkit.ErrBroken})
	want(t,
		`level=DEBUG msg="lock renewed" name=job key="job\n1" token=7 held=1m0s left=1s`,
		`level=WARN msg="lock not renewed" name=job key="job\n1" token=7 held=1m0s left=1s err="broken pipe"`,
		`level=DEBUG msg="leader resigned" name=job key="job\n1" token=7 held=1h0m0s reentrant=false err="broken pipe"`,
	)
}

// With the debug level off, the hooks of a lock that goes well do not allocate.
func TestLogHooksOff(t *testing.T) {
	h := distlock.LogHooks(slog.New(slog.NewTextHandler(io.Discard, nil)))
	if n := testing.AllocsPerRun(100, func() {
		ctx := h.Start(context.Background(), distlock.LockInfo{})
		h.Acquired(ctx, distlock.AcquiredInfo{})
		h.Renewed(ctx, distlock.RenewedInfo{})
		h.Failed(ctx, distlock.FailedInfo{Err: testkit.ErrBroken})
		h.Released(ctx, distlock.ReleasedInfo{})
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// A nil Logger is refused at once, not at the first lock.
func TestLogHooksWithoutLogger(t *testing.T) {
	defer func() {
		if got := recover(); got != "distlock: LogHooks: nil Logger" {
			t.Errorf("panic %v", got)
		}
	}()
	distlock.LogHooks(nil)
}

// Hooks that begin something are called in order, hooks that end it in reverse order.
// Every Start gets the context of the previous one.
func TestJoinHooks(t *testing.T) {
	var e events
	named := func(name string) distlock.Hooks {
		note := func(what string) func(context.Context, any) {
			return func(ctx context.Context, _ any) { e.note("%s %s %v", name, what, ctx.Value(ctxKey{})) }
		}
		return distlock.Hooks{
			Start: func(ctx context.Context, _ distlock.LockInfo) context.Context {
				note("start")(ctx, nil)
				return context.WithValue(ctx, ctxKey{}, name)
			},
			Acquired: func(ctx context.Context, i distlock.AcquiredInfo) { note("acquired")(ctx, i) },
			Failed:   func(ctx context.Context, i distlock.FailedInfo) { note("failed")(ctx, i) },
			Renewed:  func(ctx context.Context, i distlock.RenewedInfo) { note("renewed")(ctx, i) },
			Lost:     func(ctx context.Context, i distlock.LostInfo) { note("lost")(ctx, i) },
			Released: func(ctx context.Context, i distlock.ReleasedInfo) { note("released")(ctx, i) },
		}
	}
	h := distlock.JoinHooks(named("a"), distlock.Hooks{}, named("b"))
	hooked(t, h, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		_ = l.Lead(t.Context(), "k", distlock.Opts{KeyTimeout: time.Second}, func(context.Context) error {
			_, _ = l.TryAcquire(t.Context(), "k", distlock.Opts{})
			e.want(t, "a start <nil>", "b start a", "a acquired b", "b acquired b",
				"a start <nil>", "b start a", "b failed b", "a failed b")
			s.Fail(testkit.ErrBroken, testkit.Renew)
			time.Sleep(time.Second / 3)
			e.want(t, "a renewed b", "b renewed b")
			l.LoseAll()
			e.want(t, "a lost b", "b lost b")
			return testkit.ErrBroken
		})
		e.want(t, "b released b", "a released b")
	})
	for _, none := range []distlock.Hooks{distlock.JoinHooks(), distlock.JoinHooks(distlock.Hooks{}, distlock.Hooks{})} {
		if !reflect.ValueOf(none).IsZero() {
			t.Error("hooks that are nil are called") // they would cost time and read the clock
		}
	}
}

// If one hook panics, the others are still called.
func TestJoinedHookPanics(t *testing.T) {
	var told []string
	named := func(name string) distlock.Hooks {
		return distlock.Hooks{
			Acquired: func(context.Context, distlock.AcquiredInfo) { told = append(told, "acquired "+name); panic(name) },
			Released: func(context.Context, distlock.ReleasedInfo) { told = append(told, "released "+name); panic(name) },
		}
	}
	h := distlock.JoinHooks(named("a"), named("b"))
	for _, f := range []func(){
		func() { h.Acquired(t.Context(), distlock.AcquiredInfo{}) },
		func() { h.Released(t.Context(), distlock.ReleasedInfo{}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			f()
		}()
	}
	if want := []string{"acquired a", "acquired b", "released b", "released a"}; !reflect.DeepEqual(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

// If a Start does not return, the acquisition has failed for the hooks before it.
func TestJoinedStartPanics(t *testing.T) {
	for how, end := range map[string]func(){"panic": func() { panic("a hook") }, "Goexit": runtime.Goexit} {
		t.Run(how, func(t *testing.T) {
			var e events
			first := e.hooks("span")
			last := e.hooks("never")
			last.Start = func(context.Context, distlock.LockInfo) context.Context { end(); return nil }
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
		Start:    func(ctx context.Context, _ distlock.LockInfo) context.Context { return ctx },
		Acquired: func(context.Context, distlock.AcquiredInfo) {},
		Released: func(context.Context, distlock.ReleasedInfo) {},
	}
	h = distlock.JoinHooks(h, h, h)
	if n := testing.AllocsPerRun(100, func() {
		ctx := h.Start(context.Background(), distlock.LockInfo{})
		h.Acquired(ctx, distlock.AcquiredInfo{})
		h.Released(ctx, distlock.ReleasedInfo{})
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
