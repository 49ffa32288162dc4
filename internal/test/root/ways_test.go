package test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/wiring"
)

// way takes the lock of the key "k", perhaps with others, and runs fn, if it is for a function.
type way func(ctx context.Context, l *distlock.Locker, o distlock.Opts, fn func(context.Context) error) error

// ways are the ways that end when the lock is not acquired in time.
var ways = map[string]way{
	"Acquire": func(ctx context.Context, l *distlock.Locker, o distlock.Opts, _ func(context.Context) error) error {
		_, err := l.Acquire(ctx, "k", o)
		return err
	},
	"Do": func(ctx context.Context, l *distlock.Locker, o distlock.Opts, fn func(context.Context) error) error {
		return l.Do(ctx, "k", o, fn)
	},
	"Call": func(ctx context.Context, l *distlock.Locker, o distlock.Opts, fn func(context.Context) error) error {
		_, err := distlock.Call(ctx, l, "k", o, func(ctx context.Context) (int, error) { return 0, fn(ctx) })
		return err
	},
	"Wrap": func(ctx context.Context, l *distlock.Locker, o distlock.Opts, fn func(context.Context) error) error {
		o.Value = "k"
		_, err := distlock.Wrap(l, func(ctx context.Context, _ int) (int, error) { return 0, fn(ctx) }, o)(ctx, 1)
		return err
	},
	"Site": func(ctx context.Context, l *distlock.Locker, o distlock.Opts, fn func(context.Context) error) error {
		o.Value = "k"
		return wiring.Bind(l, o).Do(ctx, nil, fn)
	},
	"DoAll": func(ctx context.Context, l *distlock.Locker, o distlock.Opts, fn func(context.Context) error) error {
		return l.DoAll(ctx, []string{"a", "k", "z"}, o, fn)
	},
}

func lead(ctx context.Context, l *distlock.Locker, o distlock.Opts, fn func(context.Context) error) error {
	return l.Lead(ctx, "k", o, fn)
}

func ran(context.Context) error { panic(errors.New("the function ran")) }

// Options are refused before anything is sent if the backend cannot obey them, or if they
// make keys of parameters although the key is given: then all callers would have one lock.
func TestOptionsAreRefused(t *testing.T) {
	const (
		unshared = ", but the backend *testkit.Store does not support sharing"
		short    = ", but the backend *testkit.Store keeps no key for longer than "
		given    = " is set, but the key is given: use Wrap, or make the same key with Key(Value, parameters)"
	)
	minute := driver.Features{Sharing: true, MaxTTL: 30 * time.Second}
	for want, c := range map[string]struct {
		features driver.Features
		opts     distlock.Opts
	}{
		"Mode is shared" + unshared:                                             {driver.Features{}, reading},
		"Permits is 3" + unshared:                                               {driver.Features{}, permit},
		"KeyTimeout is 2m0s" + short + "30s":                                    {minute, distlock.Opts{KeyTimeout: 2 * time.Minute}},
		"MinHold is 10m0s" + short + "30s":                                      {minute, distlock.Opts{MinHold: 10 * time.Minute}},
		"KeyTimeout is 10s" + short + "2s":                                      {driver.Features{MaxTTL: 2 * time.Second}, distlock.Opts{}}, // the default
		"KeyTimeout is 10s, but the backend *testkit.Store needs at least 1m0s": {driver.Features{MinTTL: time.Minute, MaxTTL: time.Minute}, distlock.Opts{}},
		"ParamLock" + given:                                                     {minute, distlock.Opts{ParamLock: true}},
		"Params" + given:                                                        {minute, distlock.Opts{Params: distlock.By(func(o order) any { return o.ID })}},
		"Hasher" + given:                                                        {minute, distlock.Opts{Hasher: distlock.Keyed(make([]byte, 16))}},
		"KeyFormat" + given:                                                     {minute, distlock.Opts{KeyFormat: joined}},
	} {
		s := testkit.NewStore()
		s.SetFeatures(c.features)
		l := testkit.NewLocker(t, s, distlock.Config{})
		refuse := func(name string, take way) {
			err := recovered(func() error { return take(t.Context(), l, c.opts, ran) })
			if err == nil || !strings.HasPrefix(err.Error(), "distlock: options") || !strings.HasSuffix(err.Error(), want) {
				t.Fatalf("%s: %v, want %s", name, err, want) // the next one would wait for the lock
			}
		}
		for name, take := range ways {
			if name != "Wrap" && name != "Site" || !strings.HasSuffix(want, given) {
				refuse(name, take)
			}
		}
		refuse("Lead", lead)
		if calls := s.Calls(); len(calls) > 0 {
			t.Errorf("the store was asked: %v", calls)
		}
		most := distlock.Opts{Value: "v", KeyTimeout: c.features.MaxTTL, MinHold: c.features.MaxTTL}
		wantIs(t, wiring.Bind(l, most).Do(t.Context(), nil, func(context.Context) error { return nil }))
	}
}

// recovered returns the error of f, or that with which it panics.
func recovered(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			text, _ := r.(string)
			err = errors.New(text)
		}
	}()
	return f()
}

// A function that panics or exits ends every way to run it in the same way: the panic goes on.
//
// Row 13 (any): the key is released exactly once. Fails if the release is sent
// twice.
func TestPanicAndGoexitReleaseOnce(t *testing.T) {
	ways, w := maps.Clone(ways), httptest.NewRecorder()
	delete(ways, "Acquire") // it runs no function
	ways["Lead"], ways["httpmw"], ways["grpcmw"] = lead, route(w), method
	for name, run := range ways {
		for want, end := range map[any]func(){
			"boom": func() { panic("boom") }, http.ErrAbortHandler: func() { panic(http.ErrAbortHandler) }, nil: runtime.Goexit,
		} {
			bubbleCase(t, fmt.Sprint(name, "/", want), func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
				got := make(chan any)
				go func() {
					defer func() { got <- recover() }()
					_ = run(t.Context(), l, distlock.Opts{}, func(context.Context) error { end(); return nil })
				}()
				if r := <-got; r != want {
					t.Errorf("recovered %v, want %v", r, want)
				}
				keys := 1
				if name == "DoAll" {
					keys = 3
				}
				wantCalls(t, s, testkit.Release, keys)
				if w.Body.Len() > 0 {
					t.Errorf("an answer: %s", w.Body)
				}
				mustBeFree(t, s, "a", "z")
				nothingLeft(t, l, s)
			})
		}
	}
}
