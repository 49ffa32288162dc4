package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/weave"
)

func TestMain(m *testing.M) {
	weave.Require() // without the weaver each test would fail with a worse message
	locker = distlock.New(memlock.New(), distlock.Config{})
	os.Exit(m.Run())
}

func newTill(t *testing.T) (*till, *memlock.Backend) {
	t.Helper()
	store := memlock.New()
	l := distlock.New(store, distlock.Config{})
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return &till{locker: l, id: "till-1"}, store
}

// If several users pay for one order at the same time, one of them pays.
func TestPayOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made, _ := newTill(t)
		shop := NewShop(made.locker)
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if n, err := shop.Pay(t.Context(), "ann", 7); n != 1 || err != nil {
					t.Errorf("paid %d times, %v", n, err)
				}
			})
		}
		all.Wait()
	})
}

// The key of each shape is the key for the same options and parameters by hand.
func TestKeys(t *testing.T) {
	made, _ := newTill(t)
	ctx := t.Context()
	var wrong *generous
	for _, c := range []struct {
		value  string
		hasher distlock.Hasher
		params any // nil: no parameters
		call   func() (string, error)
	}{
		{"all", nil, []any{"ann", int64(7)}, func() (string, error) { return made.All(ctx, "ann", 7) }},
		{"one", nil, int64(7), func() (string, error) { return made.One(ctx, 7) }},
		{"none", nil, nil, func() (string, error) { return made.None(ctx, 7) }},
		{"named", nil, []any{int64(7), "ann"}, func() (string, error) { return made.Named(ctx, "ann", 1, 7) }},
		{"exprs", nil, []any{"till-1", "0007", 3}, func() (string, error) { return made.Exprs(ctx, "ann", 7) }},
		{"expr", nil, "a", func() (string, error) { return made.Expr(ctx, "ann") }},
		{"late", nil, "ann", func() (string, error) { return made.Late("ann", ctx) }},
		{"alias", nil, "ann", func() (string, error) { return made.Alias(ctx, "ann") }},
		{"two", nil, []any{"ann", 3}, func() (string, error) { return made.Two(ctx, ctx, "ann", 3) }},
		{"two-one", nil, "ann", func() (string, error) { return made.TwoOne(ctx, ctx, "ann") }},
		{"variadic", nil, []string{"ann", "bob"}, func() (string, error) { return made.Variadic(ctx, "ann", "bob") }},
		{"generous", nil, 3, func() (string, error) { return made.Generous(wrong, ctx, 3) }},
		{"hashed", distlock.Keyed([]byte("0123456789abcdef0123456789abcdef")), "ann", func() (string, error) { return made.Hashed(ctx, "ann") }},
		{"free", nil, time.Second, func() (string, error) { return Free(ctx, time.Second) }},
		{"boxed", nil, "ann", func() (string, error) { return (&box[string]{made.locker}).Put(ctx, "ann") }},
		{"ähnlich", nil, nil, func() (string, error) { return made.Ähnlich(ctx) }},
		{"again", nil, nil, func() (string, error) { return made.Again(ctx, 3) }},
	} {
		t.Run(c.value, func(t *testing.T) {
			o := distlock.Opts{Value: c.value, ParamLock: c.params != nil, Hasher: c.hasher}
			want, err := distlock.NewKeyBuilder(o).Key(c.params)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := c.call(); got != want || err != nil {
				t.Errorf("key %q, %v; want %q", got, err, want)
			}
		})
	}
}

// A key format makes the key of a woven function.
func TestKeyFormat(t *testing.T) {
	made, _ := newTill(t)
	if got, err := made.Formatted(t.Context(), "u1", 7); got != "my-formatted-3676-7-locks" || err != nil {
		t.Errorf("key %q, %v", got, err)
	}
}

// Functions with unnamed parameters have a lock too: it is refused while another holder has it.
func TestUnnamed(t *testing.T) {
	made, _ := newTill(t)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, call := range map[string]func(ctx context.Context) error{
		"Blank":   func(ctx context.Context) error { return made.Blank(ctx, "", 1) },
		"Unnamed": func(ctx context.Context) error { return made.Unnamed(ctx, "") },
	} {
		if err := call(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := call(cancelled); !errors.Is(err, context.Canceled) {
			t.Errorf("%s with a context that has ended: %v", name, err)
		}
	}
}

// If the lock is not acquired, the body does not run, and the results are zero.
func TestBusy(t *testing.T) {
	made, _ := newTill(t)
	err := made.locker.Do(t.Context(), "once", distlock.Opts{}, func(context.Context) error {
		ran, err := made.Once(t.Context(), func(context.Context) error {
			t.Error("ran without its lock")
			return nil
		})
		if ran || !errors.Is(err, distlock.ErrNotAcquired) {
			t.Errorf("ran %v, %v", ran, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// The lock is released at the end of the function, also after a panic.
func TestPanic(t *testing.T) {
	made, store := newTill(t)
	func() {
		defer func() {
			if r := recover(); r != "mine" {
				t.Errorf("recovered %v", r)
			}
		}()
		_, _ = made.Once(t.Context(), func(context.Context) error { panic("mine") })
	}()
	free(t, store, "once")
}

func free(t *testing.T, store *memlock.Backend, key string) {
	t.Helper()
	r := driver.Request{Key: key, Owner: "another", TTL: time.Minute}
	g, err := store.TryAcquire(t.Context(), r)
	if err == nil {
		err = store.Release(t.Context(), g)
	}
	if err != nil {
		t.Error(err)
	}
}

// A lost lock cancels the function's context, and the caller gets an error.
func TestLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made, store := newTill(t)
		ran, err := made.Once(t.Context(), func(ctx context.Context) error {
			store.Drop("once")
			<-ctx.Done()
			return nil
		})
		if !ran || !errors.Is(err, distlock.ErrLost) {
			t.Errorf("ran %v, %v", ran, err)
		}
	})
}

func TestShared(t *testing.T) {
	made, _ := newTill(t)
	var inside sync.WaitGroup
	inside.Add(2)
	meet := func() { // this hangs unless two calls overlap
		inside.Done()
		inside.Wait()
	}
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			if err := made.Shared(t.Context(), meet); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func TestNoLocker(t *testing.T) {
	var none till
	ran, err := none.Once(t.Context(), func(context.Context) error { return nil })
	if ran || err == nil || !strings.Contains(err.Error(), "//distlock:lock on Once: the Locker is nil") {
		t.Errorf("ran %v, %v", ran, err)
	}
}
