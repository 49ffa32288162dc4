package test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/internal/keyenc"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/wiring"
)

// joined is a KeyFormat that shows what it got.
func joined(base string, params any) (string, error) {
	if params == nil {
		return base + "/none", nil
	}
	return strings.ReplaceAll(fmt.Sprintf("%s/%v", base, params), " ", "_"), nil
}

// A KeyFormat gets the base and the selected parameters, and its result is the whole key.
func TestKeyFormat(t *testing.T) {
	t.Parallel()
	byID := distlock.By(func(o order) any { return o.ID })
	for name, c := range map[string]struct {
		opts   distlock.Opts
		params any
		want   string
	}{
		"no parameters": {distlock.Opts{Prefix: "a:", Value: "b"}, 7, "a:b/none"},
		"parameters":    {distlock.Opts{Prefix: "a:", Value: "b", ParamLock: true}, 7, "a:b/7"},
		"several":       {distlock.Opts{Value: "b", ParamLock: true}, []any{"x", []any{}}, "b/[x_[]]"},
		"selected":      {distlock.Opts{Value: "b", ParamLock: true, Params: byID}, order{ID: 42}, "b/42"},
		"nil":           {distlock.Opts{Value: "b", ParamLock: true}, nil, "b/none"},
		"hash tag":      {distlock.Opts{Prefix: "{b}", Value: ":a", ParamLock: true}, 7, "{b}:a/7"},
		"no room for a digest": {
			distlock.Opts{Value: strings.Repeat("x", keyenc.MaxKeyLen-2), ParamLock: true}, 7, strings.Repeat("x", keyenc.MaxKeyLen-2) + "/7",
		},
	} {
		c.opts.KeyFormat = joined
		if got, err := wiring.Key(c.opts, c.params); got != c.want || err != nil {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
		}
		// The default Hasher of a Locker is for locks without a KeyFormat.
		l := distlock.New(memlock.New(), distlock.Config{Hasher: distlock.Keyed(make([]byte, 16))})
		wantIs(t, wiring.Bind(l, c.opts).Do(t.Context(), c.params, func(ctx context.Context) error {
			if _, ok := distlock.Held(ctx, c.want); !ok {
				t.Errorf("%s: it does not run under the key %q", name, c.want)
			}
			return nil
		}))
		wantIs(t, l.Close())
	}
}

// Values that the encoding of keys refuses may mean something to a KeyFormat.
func TestKeyFormatTakesAnyRequest(t *testing.T) {
	t.Parallel()
	l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
	o := distlock.Opts{Value: "f", ParamLock: true, KeyFormat: func(base string, params any) (string, error) {
		return base + params.(func() string)(), nil
	}}
	f := distlock.Wrap(l, func(ctx context.Context, _ func() string) (string, error) {
		s, _ := distlock.FromContext(ctx)
		return s.Key(), nil
	}, o)
	if key, err := f(t.Context(), func() string { return "-made" }); key != "f-made" || err != nil {
		t.Errorf("key %q, %v", key, err)
	}
}

// Whatever a KeyFormat does wrong is ErrKey, and the function does not run.
func TestKeyFormatFails(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		for name, c := range map[string]struct {
			format func(base string, params any) (string, error)
			want   string
			is     error
		}{
			"error":    {func(string, any) (string, error) { return "fine", errMine }, `parameters of "p:f": KeyFormat failed: my own trouble`, errMine},
			"panic":    {func(string, any) (string, error) { panic("a\nb") }, `KeyFormat panicked: "a\nb"`, nil},
			"an error": {func(string, any) (string, error) { panic(errMine) }, `KeyFormat panicked: my own trouble`, errMine},
			"empty":    {func(string, any) (string, error) { return "", nil }, `KeyFormat made the key "", which is empty`, nil},
			"space":    {func(string, any) (string, error) { return "a b", nil }, `KeyFormat made the key "a b", which has white space at byte 1`, nil},
			"braces":   {func(string, any) (string, error) { return "{}", nil }, `KeyFormat made the key "{}", which has braces that are not one hash tag`, nil},
			"long":     {func(string, any) (string, error) { return strings.Repeat("x", 201), nil }, "KeyFormat made the key \"xxx", nil},
		} {
			o := distlock.Opts{Prefix: "p:", Value: "f", ParamLock: true, KeyFormat: c.format}
			f := distlock.Wrap(l, func(context.Context, int) (int, error) { t.Error("it ran"); return 0, nil }, o)
			_, err := f(t.Context(), 1)
			wantIs(t, err, distlock.ErrKey)
			_, want, _ := strings.Cut(c.want, "KeyFormat ")
			if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("%s: got %v, want %s", name, err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: the error has two lines: %v", name, err)
			}
			// Without parameters the key is known, and so the options are refused.
			o.ParamLock = false
			err = o.Validate()
			if want := "distlock: options: KeyFormat " + want; err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s without parameters: %v, want %s", name, err, want)
			}
		}
		wantCalls(t, s, testkit.Enqueue, 0)
	})
}

func TestKeyed(t *testing.T) {
	t.Parallel()
	secret := []byte("0123456789abcdef")
	h := distlock.Keyed(secret)
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("encoded"))
	want := "a:" + hex.EncodeToString(mac.Sum(nil)[:16])
	if got := string(h([]byte("a:"), []byte("encoded"))); got != want {
		t.Errorf("got %s, want %s", got, want)
	}

	clear(secret) // the Hasher keeps a copy
	if got := string(h([]byte("a:"), []byte("encoded"))); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	other := distlock.Keyed([]byte("0123456789abcdeg"))
	if string(other([]byte("a:"), []byte("encoded"))) == want {
		t.Error("the secret does not matter")
	}
}

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
// request to the store. Fails if keyFault allows two hash tags, or if NaN is encoded like
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
			_, err = testkit.AcquireAll(ctx, l, []string{"fine", key}, distlock.Opts{})
			refused(name+", DoAll", err)
			if key != "" {
				_, err = l.Acquire(ctx, "fine", distlock.Opts{Prefix: key})
				refused(name+", Prefix", err)
			}
		}
		for name, params := range badParams(t) {
			for _, hasher := range []distlock.Hasher{nil, distlock.Keyed(make([]byte, 16))} {
				o := distlock.Opts{Value: "v", ParamLock: true, Hasher: hasher}
				refused(name, wiring.Bind(l, o).Do(ctx, params, never))
				f := distlock.Wrap(l, func(ctx context.Context, _ any) (bool, error) { return true, never(ctx) }, o)
				_, err := f(ctx, params)
				refused(name+", Wrap", err)
			}
			err := l.Do(ctx, distlock.Key("v", params), distlock.Opts{}, never)
			refused(name+", Key", err)
			if err != nil && !strings.Contains(err.Error(), "params[0]") {
				t.Errorf("%s, Key: %v does not say what is wrong", name, err)
			}
		}
		for name, key := range badKeys { // a custom Hasher may return them
			o := distlock.Opts{Value: "v", ParamLock: true, Hasher: testkit.WhenCalled(key)}
			refused(name+", Hasher", wiring.Bind(l, o).Do(ctx, "param", never))
		}
		synctest.Wait()
		if n := len(s.Calls()); n != 0 {
			t.Errorf("%d calls reached the store", n)
		}
		mustCloseAtOnce(t, l)
	})
}
