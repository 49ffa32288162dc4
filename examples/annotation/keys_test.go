package shop

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/wiring"
)

// recorder records the requested keys.
type recorder struct {
	mu   sync.Mutex
	keys []string
}

// last returns the last key and removes it.
func (r *recorder) last() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.keys) != 1 {
		return "not one key but " + string(rune('0'+len(r.keys)))
	}
	key := r.keys[0]
	r.keys = nil
	return key
}

// newLocker returns a Locker in memory and the keys requested from it.
func newLocker(t *testing.T) (*distlock.Locker, *recorder) {
	t.Helper()
	r := &recorder{}
	return testkit.NewLocker(t, memlock.New(), distlock.Config{Hooks: distlock.Hooks{Start: r.start}}), r
}

func (r *recorder) start(ctx context.Context, i distlock.Event) context.Context {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys = append(r.keys, i.Key)
	return ctx
}

// The key contains the parameters that the comment selects, in the usual encoding.
func TestKeys(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	l, seen := newLocker(t)
	s := NewService(l)
	pay := NewLockedPayments(&Bank{Paid: map[int64]int{}}, l)
	shelf := &Shelf[int32, string]{locker: l, things: map[int32]string{}}
	ada := User{ID: 5, Name: "Ada"}
	for name, c := range map[string]struct {
		call  func() error
		value string
		param any // nil: none
		opts  distlock.Opts
	}{
		"two parameters": {func() error { return s.Move(ctx, "tea", "pot", 3) }, "move", []any{"tea", "pot"}, distlock.Opts{}},
		"an expression":  {func() error { _, _, err := s.Order(ctx, time.Time{}, Order{User: ada}); return err }, "user", 5, distlock.Opts{}},
		"a tag":          {func() error { return s.Profile(ctx, &User{ID: 5, Name: "Bob"}) }, "user", int64(5), distlock.Opts{}},
		"none":           {func() error { return s.Raise(ctx, "tea", 3) }, "prices", nil, distlock.Opts{}},
		"a hasher":       {func() error { _, err := s.Invoice(ctx, "2026-1"); return err }, "invoice", "2026-1", distlock.Opts{Hasher: hasher}},
		"generic":        {func() error { _, err := Sorted(ctx, s, []int{2, 1}); return err }, "sort", "[]int", distlock.Opts{}},
		"a generic type": {func() error { _, err := shelf.Swap(ctx, 7, "x"); return err }, "shelf", 7, distlock.Opts{}},
		"an interface":   {func() error { _, err := pay.Pay(ctx, "ada", 42); return err }, "order", 42, distlock.Opts{}},
		"its other one":  {func() error { return pay.Refund(ctx, Receipt{OrderID: 42}) }, "order", uint8(42), distlock.Opts{}},
	} {
		if err := c.call(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		c.opts.Prefix, c.opts.Value, c.opts.ParamLock = "shop:", c.value, c.param != nil
		want, err := wiring.Key(c.opts, c.param)
		if err != nil {
			t.Fatal(err)
		}
		if got := seen.last(); got != want {
			t.Errorf("%s: key %s, want %s", name, got, want)
		}
	}
}

// The three parameters of the original are one list, including null.
func TestOriginalKeys(t *testing.T) {
	l, seen := newLocker(t)
	UseLocker(l)
	t.Cleanup(func() { UseLocker(nil) })
	zero := 0
	c := &Counter{I: map[string]*int{"a": &zero}}
	opts := distlock.Opts{Prefix: "my-", Value: "test", ParamLock: true}
	for _, o := range []any{nil, "", 1.5, []string{"x"}, map[string]any{"k": []int{1}}, Receipt{OrderID: 1}} {
		if err := c.Test(t.Context(), "a", 1, o); err != nil {
			t.Fatal(err)
		}
		want, err := wiring.Key(opts, []any{"a", 1, o})
		if err != nil {
			t.Fatal(err)
		}
		if got := seen.last(); got != want {
			t.Errorf("%#v: key %s, want %s", o, got, want)
		}
	}
}
