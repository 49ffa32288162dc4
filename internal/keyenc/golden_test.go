package keyenc_test

import (
	"math"
	"math/big"
	"net/netip"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/keyenc"
)

// golden pins the digests of encodings: if one changes, an old and a new process
// do not exclude each other. Never update a digest here.
var golden = []struct {
	name   string
	params any
	want   string
}{
	{"nil", nil, "1b16b1df538ba12dc3f97edbb85caa70"},
	{"true", true, "e3b98a4da31a127d4bde6e43033f66ba"},
	{"false", false, "252f10c83610ebca1a059c0bae8255eb"},
	{"zero", 0, "206014a4266c2082b9433011fb299105"},
	{"five", 5, "56ed3693c950e6c311b34b6083fb21a5"},
	{"minus five", -5, "3cabd39c77f847a2feac3ca44f96edd9"},
	{"largest integer", uint64(math.MaxUint64), "852ae6e13e50c02b7962af465d7763b2"},
	{"smallest integer", int64(math.MinInt64), "f8011213a9008305daae909d5b86bab8"},
	{"float", 1.5, "3e230c337144fa90267e8cb99b440c8b"},
	{"zero float", math.Copysign(0, -1), "019f76127757f5d29dd33fbdca211fdc"},
	{"infinity", math.Inf(-1), "971c0acf25235c527882de567ed54cc1"},
	{"complex", complex(1.5, -2), "df909bd9b06e6d847a7669b2fe272ef7"},
	{"empty string", "", "28a3d6d537e5d5090d33c042ad97db20"},
	{"string", "abc", "a1e8c565524d92718c633c28284f5b11"},
	{"string of a digit", "5", "c5c1c29693a0112eb905d554f97cdcee"},
	{"string that is not ASCII", "Grüße", "e6c27c184646c8e245fbd2719cd69405"},
	{"string that is not UTF-8", "\xff\x00", "83d2bd1b05fa5c36511717cba5fd5041"},
	{"bytes", []byte("abc"), "b08f829e7fea62d61bed62434a771376"},
	{"list", []any{"a", int64(5)}, "27417a854425e6660cfa7952ac34878b"},
	{"list of strings", []string{"a", "bc"}, "3fdf4b4cf62aaabaf2074ad0dca0eb11"},
	{"empty list", []int{}, "fcaeb82b28d0198401682757c9e266df"},
	{"map", map[string]any{"b": 1, "a": []any{nil, true}, "": 0.5}, "4acedc491151faaa076550a3dd5c9d61"},
	{"map of integers", map[int]string{-1: "x", 1: "y", 300: "z"}, "c2a465552c8fb97d6741e1def93d13e1"},
	{"struct", order{ID: 42, SKU: "u1", Qty: 2}, "02723d6c4cf4ff7f3ca95227b404071c"},
	{"tagged struct", onlyKeys{ID: 42, SKU: "u1", Qty: 2, Trace: "t"}, "02723d6c4cf4ff7f3ca95227b404071c"},
	{"embedded struct", embedsBase{base{7}}, "bac104f5a2360e10b740e63faad067a4"},
	{"time", time.Date(2026, 5, 4, 12, 0, 0, 5, time.FixedZone("X", 3600)), "dde53dd41a3b7a5bd1c231df4859c07a"},
	{"address", netip.MustParseAddr("2001:db8::1"), "65f9006a059a2be667ca5911d57e3c6a"},
	{"big integer", big.NewInt(1234567890123456789), "677a53fd7ab294e5617bcf553cdcc4d5"},
	{"LockKey", speaker{a: "tenant/7"}, "c5d1f4ba6a0db543919264027aace3e8"},
	{"message", &message{OrderId: "o", Tags: []string{"x"}, Payment: &message_Card{"4"}}, "7a800a22247a856dbdaa6bd5ebe03ea8"},
	{"nested", []any{map[string]order{"o": {ID: 1}}, []*order{nil, {SKU: "x"}}, struct{}{}}, "b830351144bec25c03cbb33196d26c8d"},
}

func digest(t *testing.T, params any) string {
	t.Helper()
	return string(keyenc.AppendDigest(nil, []byte(mustEncode(t, params))))
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for _, g := range golden {
		if got := digest(t, g.params); got != g.want {
			t.Errorf("%s: got %s, want %s\nencoding %x", g.name, got, g.want, mustEncode(t, g.params))
		}
	}
}
