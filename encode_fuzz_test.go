package distlock_test

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/distlock-go/distlock"
)

// grower turns bytes into values of the kinds that keys know, in the one form
// that stands for all equal ones: int64, float64, string, []any, map[string]any.
type grower struct{ in []byte }

func (g *grower) byte() byte {
	if len(g.in) == 0 {
		return 0
	}
	b := g.in[0]
	g.in = g.in[1:]
	return b
}

func (g *grower) text() string {
	n := min(int(g.byte()%8), len(g.in))
	s := string(g.in[:n])
	g.in = g.in[n:]
	return s
}

func (g *grower) value(depth int) any {
	kind := g.byte() % 11
	if depth > 4 {
		kind %= 7
	}
	switch kind {
	case 0:
		return nil
	case 1:
		return g.byte()%2 == 0
	case 2:
		return int64(int8(g.byte()))
	case 3:
		return int64(g.byte())<<56 | int64(g.byte())
	case 4:
		return float64(int8(g.byte())) / 4
	case 5:
		return g.text()
	case 6:
		return []byte(g.text())
	case 7, 8:
		list := make([]any, g.byte()%4)
		for i := range list {
			list[i] = g.value(depth + 1)
		}
		return list
	case 9:
		m := map[string]any{}
		for range g.byte() % 4 {
			m[g.text()] = g.value(depth + 1)
		}
		return m
	default:
		return record{A: g.value(depth + 1), B: g.text(), C: int64(int8(g.byte()))}
	}
}

type record struct {
	A any
	B string
	C int64
}

// disguise returns an equal value of other types.
func disguise(v any) any {
	switch v := v.(type) {
	case int64:
		if v >= 0 && v <= math.MaxUint8 {
			return ptr(uint8(v))
		}
		return age(v)
	case float64:
		return ptr(float32(v)) // a multiple of 1/4: exact
	case string:
		return ptr(name(v))
	case []any:
		array := reflect.New(reflect.ArrayOf(len(v), reflect.TypeFor[any]())).Elem()
		for i, e := range v {
			array.Index(i).Set(reflect.ValueOf(ptr(disguise(e))))
		}
		return array.Interface()
	case map[string]any:
		m := map[any]any{}
		for k, e := range v {
			m[name(k)] = disguise(e)
		}
		return m
	case record:
		return &struct {
			C *int8
			B name
			A any
			d int
		}{ptr(int8(v.C)), name(v.B), disguise(v.A), 1}
	default:
		return v
	}
}

// FuzzKeyInjective grows two values, which must have one key if and only if they
// are equal, with each Hasher; and a value in disguise must keep its key.
func FuzzKeyInjective(f *testing.F) {
	f.Add([]byte{5, 3, 'a', 'b', 'c'}, []byte{6, 3, 'a', 'b', 'c'})
	f.Add([]byte{7, 2, 5, 1, 'a', 5, 2, 'b', 'c'}, []byte{7, 2, 5, 2, 'a', 'b', 5, 1, 'c'})
	f.Add([]byte{9, 2, 1, 'a', 2, 5, 1, 'b', 0}, []byte{10, 0, 1, 'a', 5})
	f.Add([]byte{2, 5}, []byte{5, 1, '5'})
	f.Add([]byte{4, 20}, []byte{2, 5})
	opts := func(h distlock.Hasher) distlock.Opts {
		return distlock.Opts{Prefix: "shop:", Value: "pay", ParamLock: true, Hasher: h}
	}
	builders := []*distlock.KeyBuilder{
		distlock.NewKeyBuilder(opts(nil)),
		distlock.NewKeyBuilder(opts(distlock.Plain)),
		distlock.NewKeyBuilder(opts(distlock.Keyed(make([]byte, 16)))),
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		va, vb := (&grower{a}).value(0), (&grower{b}).value(0)
		same := reflect.DeepEqual(va, vb)
		for i, keys := range builders {
			ka, err := keys.Key(va)
			if err != nil {
				t.Fatalf("%#v: %v", va, err)
			}
			kb, err := keys.Key(vb)
			if err != nil {
				t.Fatalf("%#v: %v", vb, err)
			}
			if (ka == kb) != same {
				t.Errorf("builder %d: %#v and %#v: %s and %s", i, va, vb, ka, kb)
			}
			if kd, err := keys.Key(disguise(va)); kd != ka || err != nil {
				t.Errorf("builder %d: %#v in disguise: %s, %v; want %s", i, va, kd, err, ka)
			}
			if err := distlock.CheckKey(ka); err != nil || !strings.HasPrefix(ka, "shop:pay:") {
				t.Errorf("builder %d: %#v: %s, %v", i, va, ka, err)
			}
		}
	})
}

// FuzzKeyPlain gives Plain what nobody encoded: it must stay fit for a key.
func FuzzKeyPlain(f *testing.F) {
	f.Add([]byte("l\x02s\x01a+\x05"))
	f.Add([]byte("r\x01\x01Am\x01nt"))
	f.Add([]byte("s\xff\xff\xff\xff\x0f"))
	f.Fuzz(func(t *testing.T, encoded []byte) {
		got := string(distlock.Plain.AppendHash(nil, encoded))
		if err := distlock.CheckKey(got); err != nil || len(got) > 96 {
			t.Errorf("%q: %q, %v", encoded, got, err)
		}
	})
}

// FuzzCheckKey compares the fast path with the words of the rule.
func FuzzCheckKey(f *testing.F) {
	for _, s := range []string{"a", "", "a b", "{a}", "é", "a\u0085", "\xff", "\u2028", strings.Repeat("x", 201)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, key string) {
		fine := len(key) >= 1 && len(key) <= 200 && utf8.ValidString(key) && !strings.ContainsFunc(key, func(r rune) bool {
			return unicode.IsControl(r) || unicode.IsSpace(r) || r == '{' || r == '}'
		})
		err := distlock.CheckKey(key)
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
