package keyenc_test

import (
	"fmt"
	"maps"
	"math"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

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
			A any
			B name
			C *int8
			d int
		}{disguise(v.A), name(v.B), ptr(int8(v.C)), 1}
	default:
		return v
	}
}

// canonical returns what v is the same as: a text, or a list of at least two.
func canonical(v any) any {
	var list []any
	switch v := v.(type) {
	case nil:
		return ""
	case []byte:
		return string(v)
	case []any:
		list = v
	case record:
		list = []any{v.A, v.B, v.C}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			list = append(list, []any{k, v[k]})
		}
		// Entries are in the order of their texts, which is not the order of their keys.
		slices.SortFunc(list, func(a, b any) int { return strings.Compare(fmt.Sprint(canonical(a)), fmt.Sprint(canonical(b))) })
	default:
		return fmt.Sprint(v)
	}
	switch len(list) {
	case 0:
		return ""
	case 1:
		return canonical(list[0])
	}
	all := make([]any, len(list))
	for i := range list {
		all[i] = canonical(list[i])
	}
	return all
}

// FuzzInjective grows two values, which have one text if and only if they are the same; and
// a value in disguise has the same text.
func FuzzInjective(f *testing.F) {
	f.Add([]byte{5, 3, 'a', 'b', 'c'}, []byte{6, 3, 'a', 'b', 'c'})
	f.Add([]byte{7, 2, 5, 1, 'a', 5, 2, 'b', 'c'}, []byte{7, 2, 5, 2, 'a', 'b', 5, 1, 'c'})
	f.Add([]byte{7, 2, 5, 3, 'a', ':', 'b', 5, 1, 'c'}, []byte{7, 2, 5, 1, 'a', 5, 3, 'b', ':', 'c'})
	f.Add([]byte{9, 2, 1, 'a', 2, 5, 1, 'b', 0}, []byte{10, 0, 1, 'a', 5})
	f.Add([]byte{2, 5}, []byte{5, 1, '5'})
	f.Add([]byte{4, 20}, []byte{2, 5})
	f.Fuzz(func(t *testing.T, a, b []byte) {
		va, vb := (&grower{a}).value(0), (&grower{b}).value(0)
		ea, eb := mustEncode(t, va), mustEncode(t, vb)
		same := reflect.DeepEqual(canonical(va), canonical(vb))
		if (ea == eb) != same || (text(ea) == text(eb)) != same {
			t.Errorf("%#v and %#v: %q and %q, %s and %s", va, vb, ea, eb, text(ea), text(eb))
		}
		if ed := mustEncode(t, disguise(va)); ed != ea {
			t.Errorf("%#v in disguise: %q, want %q", va, ed, ea)
		}
		if got := text(ea); !fit(got) {
			t.Errorf("%#v: %s is not fit for a key", va, got)
		}
	})
}

// FuzzText: a text is fit for a key, can be read back, and is not a digest.
func FuzzText(f *testing.F) {
	for _, s := range []string{"a", "a:b", "50%", "%3A", "~", "(a)", "{a}", "a b\n", "\xff\xc3", "é\u0085\u2028\ufffd", "\xed\xa0\x80", strings.Repeat("é", 200)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		encoded := mustEncode(t, s)
		if back, err := url.PathUnescape(encoded); back != s || err != nil {
			t.Errorf("%q: %s is read as %q, %v", s, encoded, back, err)
		}
		if got := text(encoded); !fit(got) || strings.HasPrefix(got, "~") != (len(encoded) > keyenc.MaxKeyLen-2) {
			t.Errorf("%q: %s", s, got)
		}
	})
}

// fit reports whether text is what AppendText promises.
func fit(text string) bool {
	return len(text) <= keyenc.MaxKeyLen-2 && utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || r == 0x202e || r == '{' || r == '}'
	})
}
