package test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/keyenc"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/wiring"
)

// badKeys are keys that a store would interpret or could not store.
var badKeys = map[string]string{
	"empty":             "",
	"oversize":          strings.Repeat("x", keyenc.MaxKeyLen+1),
	"NUL":               "a\x00b",
	"newline":           "a\nb",
	"carriage return":   "a\r\nSET b 1\r\n",
	"escape":            "\x1b[2J",
	"space":             "a b",
	"line separator":    "a\u2028b",
	"two hash tags":     "{a}{b}",
	"an empty hash tag": "{}b",
	"nested braces":     "{{a}}",
	"not UTF-8":         "a\xff",
	"surrogate":         "\xed\xa0\x80",
}

// badParams are parameters that cannot make a key.
func badParams(t *testing.T) map[string]any {
	t.Helper()
	self := map[string]any{}
	self["self"] = self
	var deep any = "bottom"
	for range keyenc.MaxNesting + 1 {
		deep = []any{deep}
	}
	return map[string]any{
		"NaN":               math.NaN(),
		"NaN in a list":     []any{1, float32(math.NaN())},
		"a cycle of maps":   self,
		"too deep":          deep,
		"a large string":    strings.Repeat("x", keyenc.MaxEncoded+1),
		"a function":        func() {},
		"a context":         []any{t.Context()},
		"Skip among others": []any{"a", distlock.Skip},
		"nothing to see":    struct{ secret int }{1},
		"a tag misspelt": struct {
			ID int `lock:"keys"`
		}{1},
	}
}

// The function does not run, and nothing is left in the process.
//
// Row 25 (any): invalid keys and parameters are ErrKey in every function, before a
// request to the store. Fails if tagFault allows two hash tags, or if NaN is encoded like
// another number.
func TestInvalidKeysReachNoStore(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		refused := func(what string, err error) {
			t.Helper()
			if !errors.Is(err, distlock.ErrKey) {
				t.Errorf("%s: %v, want ErrKey", what, err)
			}
			if err != nil && (strings.ContainsAny(err.Error(), "\n\x00\x1b") || len(err.Error()) > keyenc.MaxNesting*64) {
				t.Errorf("%s: the error is not fit for a log: %q", what, err)
			}
		}
		never := func(context.Context) error { t.Error("the function ran"); return nil }
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // an accepted key may block later calls
		defer cancel()
		for name, key := range badKeys {
			for _, o := range []distlock.Opts{{}, {Mode: distlock.Shared}, {Permits: 3}} {
				_, err := l.Acquire(ctx, key, o)
				refused(name, err)
			}
			_, err := l.TryAcquire(ctx, key, distlock.Opts{})
			refused(name+", TryAcquire", err)
			refused(name+", Do", l.Do(ctx, key, distlock.Opts{}, never))
			refused(name+", Lead", l.Lead(ctx, key, distlock.Opts{}, never))
			_, err = l.AcquireAll(ctx, []string{"fine", key}, distlock.Opts{})
			refused(name+", AcquireAll", err)
			if key != "" {
				_, err = l.Acquire(ctx, "fine", distlock.Opts{Prefix: key})
				refused(name+", Prefix", err)
			}
		}
		for name, params := range badParams(t) {
			for _, hasher := range []distlock.Hasher{nil, distlock.Plain(), distlock.Keyed(make([]byte, 16))} {
				o := distlock.Opts{Value: "v", ParamLock: true, Hasher: hasher}
				_, err := wiring.Bind(l, o).Acquire(ctx, params)
				refused(name, err)
				f := distlock.Wrap(l, func(ctx context.Context, _ any) (bool, error) { return true, never(ctx) }, o)
				_, err = f(ctx, params)
				refused(name+", Wrap", err)
			}
		}
		for name, key := range badKeys { // a custom Hasher may return them
			o := distlock.Opts{Value: "v", ParamLock: true, Hasher: testkit.WhenCalled(key)}
			_, err := wiring.Bind(l, o).Acquire(ctx, "param")
			refused(name+", Hasher", err)
		}
		synctest.Wait()
		if n := len(s.Calls()); n != 0 {
			t.Errorf("%d calls reached the store", n)
		}
		mustCloseAtOnce(t, l)
	})
}
