package test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

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
