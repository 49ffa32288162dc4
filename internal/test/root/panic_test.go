package test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/wiring"
)

var errMine = errors.New("my own trouble")

// panicky panics with its value if that is not empty.
type panicky struct{ With any }

func (p panicky) MarshalText() ([]byte, error) {
	if p.With != nil {
		panic(p.With)
	}
	return []byte("fine"), nil
}

type panickyPtr struct{ id *int }

func (p *panickyPtr) MarshalText() ([]byte, error) { return []byte{byte(*p.id)}, nil }

type panickyKey struct{ With any }

func (p panickyKey) LockKey() string {
	if p.With != nil {
		panic(p.With)
	}
	return "fine"
}

// unprintable is a panic value with a String method that panics.
type unprintable struct{}

func (unprintable) String() string { panic("again") }

// A panic in the caller's methods and functions while a key is built becomes an error:
// decorators do not panic.
func TestPanicWhileAKeyIsMade(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		text := distlock.Opts{Value: "f", ParamLock: true}
		by := distlock.Opts{Value: "f", ParamLock: true, Params: distlock.By(func(p any) any {
			if p != "fine" {
				panic(p)
			}
			return p
		})}
		hashed := distlock.Opts{Value: "f", ParamLock: true, Hasher: distlock.Hasher(func(key, params []byte) []byte {
			if !strings.Contains(string(params), "fine") {
				panic(errMine)
			}
			return append(key, "fine"...)
		})}
		for name, c := range map[string]struct {
			opts   distlock.Opts
			params any
			good   any
			want   string
			is     error
		}{
			"MarshalText":            {text, panicky{"mine"}, panicky{}, `test.panicky: MarshalText panicked: "mine"`, nil},
			"MarshalText, an error":  {text, panicky{errMine}, panicky{}, "test.panicky: MarshalText panicked: my own trouble", errMine},
			"MarshalText, two lines": {text, panicky{"a\nb"}, panicky{}, `MarshalText panicked: "a\nb"`, nil},
			"MarshalText, a value":   {text, panicky{7}, panicky{}, `MarshalText panicked: "7"`, nil},
			"MarshalText, no text":   {text, panicky{unprintable{}}, panicky{}, "MarshalText panicked: ", nil},
			"MarshalText of nil":     {text, &panickyPtr{}, panicky{}, "test.panickyPtr: MarshalText panicked: runtime error", nil},
			"MarshalText, in a list": {text, []any{1, panicky{"mine"}}, panicky{}, `params[1]: test.panicky: MarshalText panicked: "mine"`, nil},
			"LockKey":                {text, panickyKey{"mine"}, panickyKey{}, `test.panickyKey: LockKey panicked: "mine"`, nil},
			"Params":                 {by, "mine", "fine", `Params, of a interface {}, panicked: "mine"`, nil},
			"Hasher":                 {hashed, "mine", "fine", "the Hasher panicked: my own trouble", errMine},
		} {
			runs := 0
			f := distlock.Wrap(l, func(context.Context, any) (int, error) { runs++; return 0, nil }, c.opts)
			before := len(s.Calls(testkit.Enqueue))
			_, err := f(t.Context(), c.params)
			wantIs(t, err, distlock.ErrKey)
			if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("%s: got %v, want %s", name, err, c.want)
			}
			if n := len(s.Calls(testkit.Enqueue)) - before; n != 0 || runs != 0 {
				t.Errorf("%s: %d requests were sent, the function ran %d times", name, n, runs)
			}
			if _, err := f(t.Context(), c.good); err != nil || runs != 1 {
				t.Errorf("%s: then it ran %d times: %v", name, runs, err)
			}
		}
	})
}

// brittle is a context of which a later call panics.
type brittle struct {
	context.Context
	left *atomic.Int32 // calls until then
}

func (b brittle) spend() {
	if b.left.Add(-1) == 0 {
		panic("the context")
	}
}

func (b brittle) Done() <-chan struct{}       { b.spend(); return b.Context.Done() }
func (b brittle) Err() error                  { b.spend(); return b.Context.Err() }
func (b brittle) Deadline() (time.Time, bool) { b.spend(); return b.Context.Deadline() }
func (b brittle) Value(key any) any           { b.spend(); return b.Context.Value(key) }

// A panic of the caller's context or of the backend, and the end of the goroutine there, leave
// at most a lease that ends by itself: then the next callers get the lock, and Close does not wait.
func TestPanicWhileALockIsTaken(t *testing.T) {
	type operation = func(ctx context.Context, l *distlock.Locker, o distlock.Opts) error
	work := func(context.Context) error { return nil }
	survive := func(t *testing.T, holder string, o distlock.Opts, do operation, prepare func(ctx context.Context, s *testkit.Store) context.Context) (panicked bool) {
		t.Helper()
		s := testkit.NewStore()
		l, other := distlock.New(s, distlock.Config{}), distlock.New(s, distlock.Config{})
		var held *distlock.Lease
		switch holder {
		case "here":
			held = testkit.MustAcquire(t, l, "k", o)
		case "elsewhere":
			held = testkit.MustAcquire(t, other, "k", o)
		}
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), ctxKey{}, "lame"))
		defer cancel()
		ctx = prepare(ctx, s)
		done := make(chan struct{})
		panicked = true
		go func() {
			defer close(done)
			defer func() { _ = recover() }()
			o := o
			o.KeyTimeout, o.MaxWait, o.RetryInterval = 100*time.Millisecond, 50*time.Millisecond, 10*time.Millisecond
			_ = do(ctx, l, o)
			panicked = false
		}()
		<-done
		s.Before(nil)
		s.After(nil)
		if held != nil {
			wantIs(t, held.Release(t.Context()))
		}
		for _, l := range []*distlock.Locker{l, other, l} {
			for _, key := range []string{"a", "k"} {
				wantIs(t, l.Do(t.Context(), key, distlock.Opts{MaxWait: time.Second}, work))
			}
		}
		mustCloseAtOnce(t, l)
		mustCloseAtOnce(t, other)
		mustBeFree(t, s, "a", "k")
		return panicked
	}
	for name, do := range map[string]operation{
		"Do": func(ctx context.Context, l *distlock.Locker, o distlock.Opts) error { return l.Do(ctx, "k", o, work) },
		"DoAll": func(ctx context.Context, l *distlock.Locker, o distlock.Opts) error {
			return l.DoAll(ctx, []string{"a", "k"}, o, work)
		},
	} {
		for _, holder := range []string{"nobody", "here", "elsewhere"} {
			for _, o := range []distlock.Opts{{}, {Mode: distlock.Shared}, {Permits: 1}} {
				t.Run(fmt.Sprint(name, "/", holder, "/", o.Mode, o.Permits), func(t *testing.T) {
					for n, panicked := 1, true; panicked; n++ {
						synctest.Test(t, func(t *testing.T) {
							panicked = survive(t, holder, o, do, func(ctx context.Context, _ *testkit.Store) context.Context {
								left := new(atomic.Int32)
								left.Store(int32(n)) //nolint:gosec // it is small
								return brittle{ctx, left}
							})
						})
					}
					for _, end := range []func(){func() { panic("the store") }, runtime.Goexit} {
						for _, op := range []testkit.Op{testkit.Enqueue, testkit.Turn, testkit.Release} {
							fail := func(ctx context.Context, c *testkit.Call) error {
								if c.Op == op && c.Key == "k" && ctx.Value(ctxKey{}) == "lame" { // not in the background
									end()
								}
								return nil
							}
							synctest.Test(t, func(t *testing.T) {
								survive(t, holder, o, do, func(ctx context.Context, s *testkit.Store) context.Context { s.Before(fail); return ctx })
							})
							synctest.Test(t, func(t *testing.T) {
								survive(t, holder, o, do, func(ctx context.Context, s *testkit.Store) context.Context { s.After(fail); return ctx })
							})
						}
					}
				})
			}
		}
	}
}

type speakingFunc func() string

func (f speakingFunc) LockKey() string { return f() }

// runtime.Goexit is not a panic: the goroutine ends, and the next key is correct.
func TestGoexitWhileAKeyIsMade(t *testing.T) {
	o := distlock.Opts{Value: "k", ParamLock: true}
	want, err := wiring.Key(o, "x")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = wiring.Key(o, []any{"before", speakingFunc(func() string { runtime.Goexit(); return "" })})
		t.Error("went on")
	}()
	<-done
	if got, err := wiring.Key(o, "x"); got != want || err != nil {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}
