package keyenc_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/distlock-go/distlock/internal/keyenc"
)

// grower turns bytes into values of the kinds that keys can have, in one form for all
// equal values: int64, float64, string, []any, map[string]any.
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

// FuzzInjective grows two values, which have one encoding, one digest and one text
// if and only if they are equal; and a value in disguise has the same encoding.
func FuzzInjective(f *testing.F) {
	f.Add([]byte{5, 3, 'a', 'b', 'c'}, []byte{6, 3, 'a', 'b', 'c'})
	f.Add([]byte{7, 2, 5, 1, 'a', 5, 2, 'b', 'c'}, []byte{7, 2, 5, 2, 'a', 'b', 5, 1, 'c'})
	f.Add([]byte{9, 2, 1, 'a', 2, 5, 1, 'b', 0}, []byte{10, 0, 1, 'a', 5})
	f.Add([]byte{2, 5}, []byte{5, 1, '5'})
	f.Add([]byte{4, 20}, []byte{2, 5})
	text := func(encoded string) string { return string(keyenc.AppendPlain(nil, []byte(encoded))) }
	short := func(encoded string) string { return string(keyenc.AppendDigest(nil, []byte(encoded))) }
	f.Fuzz(func(t *testing.T, a, b []byte) {
		va, vb := (&grower{a}).value(0), (&grower{b}).value(0)
		ea, eb := mustEncode(t, va), mustEncode(t, vb)
		same := reflect.DeepEqual(va, vb)
		if (ea == eb) != same || (short(ea) == short(eb)) != same || (text(ea) == text(eb)) != same {
			t.Errorf("%#v and %#v: %q and %q, %s and %s, %s and %s", va, vb, ea, eb, short(ea), short(eb), text(ea), text(eb))
		}
		if ed := mustEncode(t, disguise(va)); ed != ea {
			t.Errorf("%#v in disguise: %q, want %q", va, ed, ea)
		}
		if got := text(ea); !fit(got) {
			t.Errorf("%#v: %s is not fit for a key", va, got)
		}
	})
}

// FuzzPlain: the text is fit for a key even if encoded is not an encoding.
func FuzzPlain(f *testing.F) {
	for _, encoded := range []string{
		"l\x02s\x01a+\x05", "r\x01\x01Am\x01nt", "s\xff\xff\xff\xff\x0f", "", "?", "s", "s\x05abc", "+", "+\x80", "d\x00", "c\x00",
		"l\x02n", "nn", "m\x01n", "r\x01\x01", "b\x09", "l\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", strings.Repeat("l\x01", 1000),
	} {
		f.Add([]byte(encoded))
	}
	f.Fuzz(func(t *testing.T, encoded []byte) {
		if got := string(keyenc.AppendPlain(nil, encoded)); !fit(got) {
			t.Errorf("%q: %q", encoded, got)
		}
	})
}

// fit reports whether text is what AppendPlain promises.
func fit(text string) bool {
	return text != "" && len(text) <= keyenc.PlainLen && !strings.ContainsFunc(text, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || r == '{' || r == '}'
	})
}
