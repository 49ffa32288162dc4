package keyenc_test

import (
	"math"
	"strings"
	"testing"

	"github.com/distlock-go/distlock/internal/keyenc"
)

func TestPlain(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 97)
	for _, c := range []struct {
		params any
		want   string
	}{
		{nil, "nil"},
		{true, "true"},
		{false, "false"},
		{42, "42"},
		{-7, "-7"},
		{uint64(math.MaxUint64), "18446744073709551615"},
		{int64(math.MinInt64), "-9223372036854775808"},
		{5.0, "5.0"},
		{-1.5, "-1.5"},
		{1e21, "1e+21"},
		{math.Inf(1), "+Inf"},
		{math.Inf(-1), "-Inf"},
		{complex(1, -0.5), "c(1.0,-0.5)"},
		{"u1", "u1"},
		{"A-b_c.d@e", "A-b_c.d@e"},
		{"_x", "_x"},
		{"42", "'42"},
		{"-7", "'-7"},
		{"1.5", "'1.5"},
		{"@a", "'@a"},
		{".", "'."},
		{"", "'"},
		{"nil", "'nil"},
		{"true", "'true"},
		{"false", "'false"},
		{"nile", "nile"},
		{"Inf", "Inf"},
		{"'42", "%2742"},
		{"+Inf", "%2BInf"},
		{"a/b:c", "a%2Fb%3Ac"},
		{"a b\n{c}", "a%20b%0A%7Bc%7D"},
		{"50%", "'50%25"},
		{"a~b", "a%7Eb"},
		{"(u1,7)", "%28u1%2C7%29"},
		{"é", "%C3%A9"},
		{"\x00\xff", "%00%FF"},
		{"0x6162", "'0x6162"},
		{[]byte("ab"), "0x6162"},
		{[]byte{}, "0x"},
		{[]any{"u1", 7}, "(u1,7)"},
		{[]any{}, "()"},
		{[]any{[]any{}, nil, ""}, "((),nil,')"},
		{[]string{"", ""}, "(',')"},
		{order{ID: 7, SKU: "u1", Qty: 2}, "s(ID=7,Qty=2,SKU=u1)"},
		{struct{}{}, "s()"},
		{struct{ É int }{1}, "s(%C3%89=1)"},
		{map[string]int{"b": 2, "a": 1}, "m(a=1,b=2)"},
		{map[int]any{}, "m()"},
		{strings.Repeat("x", 96), strings.Repeat("x", 96)},
		{long, long[:63] + "~" + digest(t, long)},
		{strings.Repeat("x", 62) + "/" + long, strings.Repeat("x", 62) + "~" + digest(t, strings.Repeat("x", 62)+"/"+long)},
		{strings.Repeat("x", 61) + "/" + long, strings.Repeat("x", 61) + "~" + digest(t, strings.Repeat("x", 61)+"/"+long)},
		{strings.Repeat("x", 60) + "/" + long, strings.Repeat("x", 60) + "%2F~" + digest(t, strings.Repeat("x", 60)+"/"+long)},
		{make([]byte, 48), "0x" + strings.Repeat("0", 61) + "~" + digest(t, make([]byte, 48))},
		{make([]byte, 47), "0x" + strings.Repeat("00", 47)},
		{make([]byte, 1000), "0x" + strings.Repeat("0", 61) + "~" + digest(t, make([]byte, 1000))},
	} {
		got := string(keyenc.AppendPlain([]byte("{x}:"), []byte(mustEncode(t, c.params))))
		if got != "{x}:"+c.want {
			t.Errorf("%#v: got %s, want {x}:%s", c.params, got, c.want)
		}
		if len(got)-len("{x}:") > 96 {
			t.Errorf("%#v: %d bytes", c.params, len(got))
		}
	}
}

// Long parameters that differ only in the part that is cut off must have different
// digests.
func TestPlainCutIsInjective(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for i := range 300 {
		for _, v := range []string{strings.Repeat("y", i), strings.Repeat("y", 200) + strings.Repeat("z", i)} {
			text := string(keyenc.AppendPlain(nil, []byte(mustEncode(t, v))))
			if other, dup := seen[text]; dup && v != strings.Repeat("y", other) {
				t.Fatalf("%d and %d share %s", i, other, text)
			}
			seen[text] = len(v)
		}
	}
}
