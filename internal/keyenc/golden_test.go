package keyenc_test

import (
	"math"
	"math/big"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/keyenc"
)

// golden pins the texts of parameters: if one changes, an old and a new process do not
// exclude each other. Never update a text here. They hold from version 0.1.0.
var golden = []struct {
	name   string
	params any
	want   string
}{
	{"nil", nil, ""},
	{"true", true, "true"},
	{"zero", 0, "0"},
	{"minus five", -5, "-5"},
	{"largest integer", uint64(math.MaxUint64), "18446744073709551615"},
	{"smallest integer", int64(math.MinInt64), "-9223372036854775808"},
	{"float", 1.5, "1.5"},
	{"whole float", 1e21, "1000000000000000000000"},
	{"zero float", math.Copysign(0, -1), "0"},
	{"infinity", math.Inf(-1), "-Inf"},
	{"string", "abc", "abc"},
	{"characters that stay", "A-b_c.d@e/f+g=h,i;j*k!'\"#$&<>?[]^`|\\", "A-b_c.d@e/f+g=h,i;j*k!'\"#$&<>?[]^`|\\"},
	{"characters that do not", "a:b (c) {d} 50%~\n", "a%3Ab%20%28c%29%20%7Bd%7D%2050%25%7E%0A"},
	{"string that is not ASCII", "Grüße, 世界", "Grüße,%20世界"},
	{"white space that is not ASCII", "a\u0085b\u00a0c\u3000d\u2028", "a%C2%85b%C2%A0c%E3%80%80d%E2%80%A8"},
	{"invisible characters", "a\u200bb\u202ec\ufeffd\u00ade", "a%E2%80%8Bb%E2%80%AEc%EF%BB%BFd%C2%ADe"},
	{"string that is not UTF-8", "\xff\x00é\xc3", "%FF%00é%C3"},
	{"bytes", []byte("abc\xfe"), "abc%FE"},
	{"list", []any{"a", int64(5)}, "a:5"},
	{"list in a list", []any{[]string{"a", "b:c"}, []int{}, []int{7}, []any{1, []any{2, 3}}}, "(a:b%3Ac)::7:(1:(2:3))"},
	{"map", map[string]any{"b": 1, "a": []any{nil, true}, "": 0.5}, "(:0.5):(a:(:true)):(b:1)"},
	{"map of integers", map[int]string{-1: "x", 1: "y", 300: "z"}, "(-1:x):(1:y):(300:z)"},
	{"map of one", map[string]int{"a": 1}, "a:1"},
	{"struct", order{ID: 42, SKU: "u1", Qty: 2}, "42:u1:2"},
	{"struct of one field", base{42}, "42"},
	{"time", time.Date(2026, 5, 4, 12, 0, 0, 5, time.FixedZone("X", 3600)), "2026-05-04T11%3A00%3A00.000000005Z"},
	{"address", netip.MustParseAddr("2001:db8::1"), "2001%3Adb8%3A%3A1"},
	{"UUID", [16]byte{15: 1}, "00000000-0000-0000-0000-000000000001"},
	{"big integer", big.NewInt(1234567890123456789), "1234567890123456789"},
	{"LockKey", speaker{a: "tenant/7"}, "tenant/7"},
	{"message", &message{OrderId: "o", Tags: []string{"x"}, Payment: &message_Card{"4"}}, "o:x:4"},
	{"nested", []any{map[string]order{"o": {ID: 1}}, []*order{nil, {SKU: "x"}}, struct{}{}}, "(o:(1::0)):(:(0:x:0)):"},
	{"all the room", strings.Repeat("x", keyenc.MaxKeyLen-2), strings.Repeat("x", keyenc.MaxKeyLen-2)},
	{"more", strings.Repeat("x", keyenc.MaxKeyLen-1), "~f18029ae3f973208860c668e7b0c042e"},
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for _, g := range golden {
		if got := text(mustEncode(t, g.params)); got != g.want {
			t.Errorf("%s: got %s, want %s", g.name, got, g.want)
		}
		e := keyenc.NewEncoder()
		if list, ok := g.params.([]any); ok && (e.Encode(list) != nil || e.Parts() != len(list)) {
			t.Errorf("%s: %d parts", g.name, e.Parts())
		}
	}
}

// text is what follows a base of two bytes.
func text(encoded string) string { return string(keyenc.AppendText([]byte("b:"), []byte(encoded))[2:]) }
