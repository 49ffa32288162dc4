package test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/internal/keyenc"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/wiring"
)

type (
	ints       []int
	uncallable struct{ F func() }
)

// Params takes the request or refuses it, as Wrap does for the type of the request.
func TestParams(t *testing.T) {
	t.Parallel()
	l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
	takes := func(p distlock.Selector) distlock.Opts {
		return distlock.Opts{Value: "pay", ParamLock: true, Params: p}
	}
	list := distlock.By(func(r []int) any { return r })
	anything := distlock.By(func(r any) any { return r })
	stringer := distlock.By(func(r fmt.Stringer) any { return r == nil })
	for _, c := range []struct {
		name   string
		opts   distlock.Opts
		params any
		wrap   func(*distlock.Locker, distlock.Opts) error // for the type of params
		ok     bool
	}{
		{"its type", takes(list), []int{1}, wraps[[]int], true},
		{"another type", takes(list), "abc", wraps[string], false},
		{"nil", takes(list), nil, nil, false},
		// Assignable, but an assertion to []int fails: all requests would have had the
		// key of a nil slice.
		{"an assignable type", takes(list), ints{1}, wraps[ints], false},
		{"any of a value", takes(anything), ints{1}, wraps[ints], true},
		{"any of nil", takes(anything), nil, nil, true},
		{"interface", takes(stringer), time.Second, wraps[time.Duration], true},
		{"interface of nil", takes(stringer), nil, nil, true},
		{"interface that is not implemented", takes(stringer), 5, wraps[int], false},
		{"a function takes part", takes(distlock.Selector{}), uncallable{}, wraps[uncallable], false},
		{"a function takes no part", distlock.Opts{Value: "v"}, uncallable{}, wraps[uncallable], true},
		{"Params selects", takes(distlock.By(func(uncallable) any { return 1 })), uncallable{}, wraps[uncallable], true},
	} {
		key, err := wiring.Key(c.opts, c.params)
		if c.ok && err != nil || !c.ok && (key != "" || !errors.Is(err, distlock.ErrKey)) {
			t.Errorf("%s: got %q, %v", c.name, key, err)
		}
		if c.wrap != nil {
			if err := c.wrap(l, c.opts); (err == nil) != c.ok {
				t.Errorf("%s: Wrap says %v", c.name, err)
			}
		}
	}
}

// wraps returns what Wrap says to a function of a T.
func wraps[T any](l *distlock.Locker, o distlock.Opts) error {
	return recovered(func() error {
		distlock.Wrap(l, func(context.Context, T) (int, error) { return 0, nil }, o)
		return nil
	})
}

func TestKeyChecksTheHasher(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		h    distlock.Hasher
		want string // "": ErrKey
	}{
		{"none", nil, "shop:pay:1"},
		{"fine", testkit.WhenCalled("x-1"), "shop:pay:x-1"},
		{"not ASCII", testkit.WhenCalled("Grüße"), "shop:pay:Grüße"},
		{"full", testkit.WhenCalled(strings.Repeat("x", keyenc.MaxKeyLen-9)), "shop:pay:" + strings.Repeat("x", keyenc.MaxKeyLen-9)},
		{"too long", testkit.WhenCalled(strings.Repeat("x", keyenc.MaxKeyLen-8)), ""},
		{"empty", testkit.WhenCalled(""), ""},
		{"hash tag", testkit.WhenCalled("{a}"), "shop:pay:{a}"},
		{"nil", distlock.Hasher(func(_, _ []byte) []byte { return nil }), ""},
		{"replaces", distlock.Hasher(func(_, _ []byte) []byte { return []byte("x") }), ""},
		{"shortens", distlock.Hasher(func(dst, _ []byte) []byte { return dst[:len(dst)-1] }), ""},
		{"writes over", distlock.Hasher(func(dst, _ []byte) []byte { dst[len(dst)-1] = '-'; return append(dst, 'x') }), ""},
	} {
		got, err := wiring.Key(distlock.Opts{Prefix: "shop:", Value: "pay", ParamLock: true, Hasher: c.h}, 1)
		if got != c.want || (c.want == "") != errors.Is(err, distlock.ErrKey) {
			t.Errorf("%s: got %q, %v; want %q", c.name, got, err, c.want)
		}
	}
}

func TestCheckKey(t *testing.T) {
	t.Parallel()
	l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
	for _, c := range []struct {
		key  string
		want string // in the error; "" if it is valid
	}{
		{"a", ""},
		{"shop:pay:42/~!#$%&'()*+,-.;<=>?@[]^_`|\"\\", ""},
		{"Grüße:日本", ""},
		{strings.Repeat("x", keyenc.MaxKeyLen), ""},
		{"", "is empty"},
		{strings.Repeat("x", keyenc.MaxKeyLen+1), "is 201 bytes long"},
		{strings.Repeat("é", keyenc.MaxKeyLen/2) + "x", "is 201 bytes long"},
		{"a b", "white space at byte 1"},
		{"\x00", "a control character at byte 0"},
		{"a\x7f", "a control character at byte 1"},
		{"{order}:1", ""},
		{"order:{42}:é", ""},
		{"{", "has braces that are not one hash tag, such as {order}"},
		{"a}", "has braces"},
		{"{a", "has braces"},
		{"{{a}}", "has braces"},
		{"é\x00", "a control character at byte 2"},
		{"a\u0085", "white space at byte 1"},
		{"a\xff", "not valid UTF-8"},
		{"\xed\xa0\x80", "not valid UTF-8"},
	} {
		err := l.Do(t.Context(), c.key, distlock.Opts{}, func(context.Context) error { return nil })
		base := distlock.Opts{Value: c.key}.Validate()
		if c.want == "" {
			if err != nil || base != nil {
				t.Errorf("%q: %v, %v", c.key, err, base)
			}
			continue
		}
		e, ok := errors.AsType[*distlock.Error](err)
		if !ok || e.Op != "key" || e.Key != c.key || !errors.Is(err, distlock.ErrKey) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.key, err, c.want)
		}
		if c.key != "" && (base == nil || !strings.HasPrefix(base.Error(), `distlock: options: Prefix+Value "`) || !strings.Contains(base.Error(), c.want)) {
			t.Errorf("%q: %v, want Prefix+Value and %q", c.key, base, c.want)
		}
	}
}

func TestKeyAllocations(t *testing.T) {
	if testkit.Race {
		t.Skip("pools do not keep under the race detector")
	}
	l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
	keys := wiring.Bind(l, distlock.Opts{Value: "k", ParamLock: true})
	keyed := wiring.Bind(l, distlock.Opts{Value: "k", ParamLock: true, Hasher: distlock.Keyed(make([]byte, 16))})
	bare := wiring.Bind(l, distlock.Opts{Prefix: "shop:", Value: "pay"})
	type timed struct {
		At time.Time
		ID int64
	}
	var id int64 = 1 << 40
	now := time.Now()
	for _, c := range []struct {
		name string
		most float64
		run  func() (string, error)
	}{
		{"no parameters", 0, func() (string, error) { return bare.Key(nil) }},
		{"string", 2, func() (string, error) { return keys.Key(strings.Clone("")) }},
		{"int64", 2, func() (string, error) { return keys.Key(id) }},
		{"three fields", 2, func() (string, error) { return keys.Key(order{ID: id, SKU: "u1", Qty: 3}) }},
		{"three fields behind a pointer", 2, func() (string, error) { return keys.Key(&order{ID: id, SKU: "u1", Qty: 3}) }},
		{"time in a struct", 2, func() (string, error) { return keys.Key(timed{At: now, ID: id}) }},
		{"keyed", 2, func() (string, error) { return keyed.Key(order{ID: id, SKU: "u1", Qty: 3}) }},
		{"two parameters", 3, func() (string, error) { return keys.Key([]any{"alice", "b:b"}) }},
		{"Key", 3, func() (string, error) { return distlock.Key("k", id, "b:b"), nil }},
		{"Key alone", 0, func() (string, error) { return distlock.Key("k"), nil }},
	} {
		var err error
		got := testing.AllocsPerRun(200, func() {
			_, err2 := c.run()
			err = errors.Join(err, err2)
		})
		if err != nil || got > c.most {
			t.Errorf("%s: %v allocations, %v; want at most %v", c.name, got, err, c.most)
		}
	}
}

// oneTag matches keys without braces, and those with braces around one hash tag.
var oneTag = regexp.MustCompile(`^[^{}]*(\{[^{}]+\}[^{}]*)?$`)

// FuzzCheckKey compares the rule for keys with a slow form of it.
func FuzzCheckKey(f *testing.F) {
	for _, s := range []string{
		"a", "", "a b", "a\tb", "a\nb", "a\x1b", "{a}", "b{a}", "a{:}", "{a}{b}", "{a}}", "{{a}", "{}", "}a{", "é{a", "é{a}{b}", "{a b}",
		"é", "a\u0080", "a\u0085", "a\u00a0", "a\u3000", "\xff", "a\xc3", "\u2028", strings.Repeat("x", 201),
	} {
		f.Add(s)
	}
	l := distlock.New(memlock.New(), distlock.Config{})
	f.Fuzz(func(t *testing.T, key string) {
		fine := len(key) >= 1 && len(key) <= 200 && utf8.ValidString(key) && !strings.ContainsFunc(key, func(r rune) bool {
			return unicode.IsControl(r) || unicode.IsSpace(r)
		}) && oneTag.MatchString(key)
		err := l.Do(t.Context(), key, distlock.Opts{}, func(context.Context) error { return nil })
		if (err == nil) != fine {
			t.Errorf("%q: %v, want fine: %t", key, err, fine)
		}
		if err != nil && !errors.Is(err, distlock.ErrKey) {
			t.Errorf("%q: %v is not ErrKey", key, err)
		}
		if err != nil && strings.ContainsFunc(err.Error(), unicode.IsControl) {
			t.Errorf("%q: the error is not fit for a log: %q", key, err.Error())
		}
	})
}
