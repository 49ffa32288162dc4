package keyenc_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/distlock-go/distlock/internal/keyenc"
)

// encode returns the encoding of params.
func encode(params any) (string, error) {
	e := keyenc.NewEncoder()
	defer e.Free()
	if err := e.Encode(params); err != nil {
		return "", err
	}
	return string(e.Encoded()), nil
}

func mustEncode(t testing.TB, params any) string {
	t.Helper()
	encoded, err := encode(params)
	if err != nil {
		t.Fatalf("Encode(%#v): %v", params, err)
	}
	return encoded
}

func ptr[T any](v T) *T { return &v }

type (
	age    int
	name   string
	octet  uint8
	octets []octet

	order struct {
		ID  int64
		SKU string
		Qty int
	}
	// renamed is an order of another type.
	renamed struct {
		Number  uint8
		Article name
		Pieces  *int
	}
	secretive struct {
		ID    int64
		SKU   string
		Qty   int
		cache map[string]int
	}
	withContext struct {
		Ctx context.Context
		ID  int64
		SKU string
		Qty int
	}
	embedsContext struct {
		context.Context
		ID  int64
		SKU string
		Qty int
	}
	leavesOut struct {
		ID    int64
		SKU   string
		Qty   int
		Trace string `lock:"-"`
		Fn    func() `lock:"-"`
	}
	onlyKeys struct {
		ID    int64  `json:"id" lock:"key"`
		SKU   string `lock:"key"`
		Qty   int    `lock:"key"`
		Trace string
		Fn    func()
	}
)

// base is unexported, but promotes an exported field.
type base struct{ ID int64 }

type (
	embedsBase    struct{ base }
	embedsBasePtr struct{ *base }
	// keyedBase promotes a field with a tag.
	keyedBase struct {
		ID int64 `lock:"key"`
	}
	embedsKey struct {
		keyedBase
		Note string
	}
	embedsTime struct {
		time.Time
		ID int64
	}
	onlyTime struct{ time.Time }
)

// speaker has LockKey with a value receiver, speakerPtr with a pointer receiver.
type speaker struct{ a, b string }

func (s speaker) LockKey() string { return s.a }

type speakerPtr struct{ a, b string }

func (s *speakerPtr) LockKey() string { return s.a }

type (
	speakingFunc  func() string
	embedsSpeaker struct{ *speaker }
	handlesNil    struct{ *speaker }
	speakingText  struct{ time.Time }
	textual       struct{ A, B string }
	textualPtr    struct{ A, B string }
	textualTagged struct {
		A string `lock:"key"`
		B string
	}
	textualInt   int
	status       uint8 // an enum
	hash         [4]byte
	secret       string
	pointed      struct{ A, B any }
	failsToText  struct{ A string }
	hiddenText   struct{ a string }
	embedsHidden struct {
		hiddenText
		A string
	}
)

func (f speakingFunc) LockKey() string { return f() }

func (h handlesNil) LockKey() string {
	if h.speaker == nil {
		return "none"
	}
	return h.speaker.LockKey()
}

func (speakingText) LockKey() string                 { return "spoken" }
func (x textual) MarshalText() ([]byte, error)       { return []byte(x.A), nil }
func (x *textualPtr) MarshalText() ([]byte, error)   { return []byte(x.A), nil }
func (x textualTagged) MarshalText() ([]byte, error) { return []byte("text"), nil }
func (x textualInt) MarshalText() ([]byte, error)    { return []byte("level-" + fmt.Sprint(int(x))), nil }
func (x hiddenText) MarshalText() ([]byte, error)    { return []byte(x.a), nil }

func (s status) String() string  { return [...]string{"NEW", "PAID"}[s] }
func (h *hash) String() string   { return fmt.Sprintf("%x", h[:]) }
func (secret) String() string    { return "***" }
func (p pointed) String() string { return fmt.Sprintf("%p", &p) }

// Timestamp has the form of a Timestamp of protobuf.
type Timestamp struct {
	Seconds int64
	Nanos   int32
}

func (t *Timestamp) AsTime() time.Time { return time.Unix(t.Seconds, int64(t.Nanos)) }

type embedsTimestamp struct {
	*Timestamp
	ID int
}

// nullUUID has the form of a UUID of pgtype.
type nullUUID struct {
	Bytes [16]byte
	Valid bool
}

func (nullUUID) Value() (driver.Value, error) { return nil, nil }

// isValid is no value of a database.
type isValid struct {
	ID    int
	Valid bool
}

var errText = errors.New("no text today")

func (failsToText) MarshalText() ([]byte, error) { return nil, errText }

// message has the form that protoc-gen-go writes, without the runtime.
type (
	message struct {
		state         messageState //nolint:unused // as generated
		OrderId       string
		Tags          []string
		Payment       isPayment
		XXX_sizecache int32
		unknownFields []byte
		sizeCache     int32
	}
	messageState struct{ _ *int } //nolint:unused // as generated
	isPayment    interface{ isPayment() }
	message_Card struct{ Card string }
	message_Iban struct{ Iban string }
	emptyMessage struct {
		state         messageState //nolint:unused // as generated
		unknownFields []byte       //nolint:unused // as generated
		sizeCache     int32
	}
	opaqueMessage struct {
		state              messageState //nolint:unused // as generated
		xxx_hidden_OrderId string       //nolint:unused // as generated
		XXX_presence       [1]uint32
		unknownFields      []byte //nolint:unused // as generated
		sizeCache          int32  //nolint:unused // as generated
	}
)

// wrapper has the form of a StringValue of protobuf.
type wrapper struct {
	state         messageState //nolint:unused // as generated
	unknownFields []byte       //nolint:unused // as generated
	sizeCache     int32
	Value         string
}

func (*wrapper) ProtoMessage()       {}
func (*message) ProtoMessage()       {}
func (*emptyMessage) ProtoMessage()  {}
func (*opaqueMessage) ProtoMessage() {}
func (*message_Card) isPayment()     {}
func (*message_Iban) isPayment()     {}

func TestEncodeSame(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 5, 4, 12, 0, 0, 5, time.UTC)
	one := order{ID: 7, SKU: "u1", Qty: 2}
	var nilOrder *order
	var nilSpeaker *speakerPtr
	for _, c := range []struct {
		name string
		same []any
	}{
		{"a number", []any{5, int8(5), int16(5), int32(5), int64(5), uint(5), uint8(5), uint16(5), uint32(5), uint64(5), age(5), 5.0, float32(5),
			"5", name("5"), []byte("5"), json.Number("5"), json.Number("5.0"), ptr(json.Number("50e-1")), big.NewInt(5), *big.NewInt(5), ptr(5), ptr[any]("5"), sql.NullInt64{Int64: 5, Valid: true}, sql.Null[string]{V: "5", Valid: true}}},
		{"negative numbers", []any{-5, int8(-5), age(-5), -5.0, "-5"}},
		{"large numbers", []any{uint64(math.MaxUint64), "18446744073709551615", new(big.Int).SetUint64(math.MaxUint64)}},
		{"floats", []any{0.1, float32(0.1), "0.1"}},
		{"large floats", []any{1e15, int64(1000000000000000), "1000000000000000", json.Number("1e15")}},
		{"negative zero", []any{0.0, math.Copysign(0, -1), float32(0), 0, "0", json.Number("-0"), json.Number("0.00")}},
		{"bools", []any{true, "true", sql.NullBool{Bool: true, Valid: true}}},
		{"strings", []any{"abc", name("abc"), ptr("abc"), ptr(ptr("abc")), ptr[any]("abc"), secret("abc")}},
		{"bytes", []any{"abc", []byte("abc"), [3]byte{'a', 'b', 'c'}, &[3]byte{'a', 'b', 'c'}, octets{'a', 'b', 'c'}, [3]octet{'a', 'b', 'c'}, ptr([]byte("abc"))}},
		{"UUIDs", []any{"6ba7b810-9dad-11d1-80b4-00c04fd430c8", uuid.NameSpaceDNS, [16]byte(uuid.NameSpaceDNS), &uuid.NameSpaceDNS, nullUUID{uuid.NameSpaceDNS, true}, uuid.NullUUID{UUID: uuid.NameSpaceDNS, Valid: true}}},
		{"enums", []any{"PAID", status(1), ptr(status(1)), struct{ S status }{1}}},
		{"other text", []any{"1s", time.Second}},
		{"a String of bytes", []any{"01020304", hash{1, 2, 3, 4}, &hash{1, 2, 3, 4}}},
		{"a String of a struct is not asked", []any{[]int{1, 2}, pointed{1, 2}}},
		{"lists", []any{[]any{"a", int64(5)}, [2]any{"a", 5}, []any{name("a"), uint8(5)}, &[2]any{"a", ptr(5)}, []string{"a", "5"}, struct {
			A string
			B int
		}{"a", 5}, map[string]int{"a": 5}}},
		{"typed lists", []any{[]int{1, 2}, [2]int64{1, 2}, []any{1, 2}, []*int{ptr(1), ptr(2)}, []age{1, 2}, []string{"1", "2"}}},
		{"a list of one", []any{"a", []string{"a"}, [1]any{"a"}, [][]string{{"a"}}, struct{ A []any }{[]any{"a"}}}},
		{"a list of one in a list", []any{[]any{"a", "b"}, []any{[]string{"a"}, "b"}, [][]any{{"a", "b"}}, []any{map[string]any{"a": "b"}}}},
		{"maps", []any{map[string]any{"a": 1, "b": int8(2)}, map[name]int{"b": 2, "a": 1}, map[any]any{"b": 2, name("a"): 1}, [][]any{{"a", 1}, {"b", 2}}}},
		{"nothing", []any{"", nil, nilOrder, (*int)(nil), ptr(nilOrder), ptr[any](nil), nilSpeaker, (*time.Time)(nil), (*big.Int)(nil), (*speaker)(nil), ptr(""),
			[]int{}, []int(nil), [0]string{}, []any{nil}, []any{""}, map[string]int{}, map[string]int(nil), []byte{}, [0]byte{}, sql.NullString{String: "x"}, sql.NullTime{}, &uuid.NullUUID{UUID: uuid.NameSpaceDNS}, json.Number(""), netip.AddrPort{}, netip.Addr{}, net.IP(nil),
			struct{}{}, &emptyMessage{}, &emptyMessage{sizeCache: 1}}},
		{"structs", []any{one, &one, ptr(&one), renamed{7, "u1", ptr(2)}, secretive{ID: 7, SKU: "u1", Qty: 2, cache: map[string]int{"x": 1}}, []any{7, "u1", 2}}},
		{"contexts are left out", []any{
			one, withContext{Ctx: t.Context(), ID: 7, SKU: "u1", Qty: 2}, withContext{ID: 7, SKU: "u1", Qty: 2},
			embedsContext{Context: t.Context(), ID: 7, SKU: "u1", Qty: 2}, &embedsContext{ID: 7, SKU: "u1", Qty: 2},
		}},
		{"tags", []any{
			one, leavesOut{ID: 7, SKU: "u1", Qty: 2, Trace: "x", Fn: func() {}},
			onlyKeys{ID: 7, SKU: "u1", Qty: 2, Trace: "y", Fn: func() {}},
		}},
		{"a single field", []any{7, struct{ ID int64 }{7}, embedsKey{keyedBase{7}, "a"}, embedsKey{keyedBase{7}, "b"}, embedsBase{base{7}}, embedsBasePtr{&base{7}},
			struct {
				mu  [4]int
				Ctx context.Context
				ID  string
				No  string `lock:"-"`
			}{ID: "7", No: "x"}, struct {
				Note string
				ID   uint8 `lock:"key"`
			}{"x", 7}, &wrapper{Value: "7", sizeCache: 3}}},
		{"instants", []any{noon, noon.In(time.FixedZone("X", 3600)), noon.Local(), &noon, "2026-05-04T12:00:00.000000005Z", onlyTime{noon}, &onlyTime{noon.In(time.FixedZone("X", 3600))},
			&Timestamp{noon.Unix(), 5}, Timestamp{noon.Unix(), 5}, sql.NullTime{Time: noon.Local(), Valid: true}}},
		{"addresses", []any{"10.0.0.1", netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("::ffff:10.0.0.1"), ptr(netip.MustParseAddr("::ffff:10.0.0.1")), net.IPv4(10, 0, 0, 1), net.IP{10, 0, 0, 1}}},
		{"endpoints", []any{"10.0.0.1:80", netip.MustParseAddrPort("10.0.0.1:80"), netip.MustParseAddrPort("[::ffff:10.0.0.1]:80"), ptr(netip.MustParseAddrPort("[::ffff:10.0.0.1]:80"))}},
		{"text", []any{"a", textual{"a", "b"}, &textual{"a", "c"}, textualPtr{"a", "d"}, &textualPtr{"a", "e"}}},
		{"text of an integer type", []any{"level-3", textualInt(3)}},
		{"LockKey", []any{"a", speaker{"a", "b"}, &speaker{"a", "c"}, speakerPtr{"a", "b"}, &speakerPtr{"a", "c"}, speakingFunc(func() string { return "a" }), embedsSpeaker{&speaker{a: "a"}}}},
		{"LockKey of a map key and an element", []any{map[any]any{"a": []any{"a"}}, map[speakerPtr][]speakerPtr{{"a", "x"}: {{"a", "y"}}}}},
		{"LockKey before MarshalText", []any{"spoken", speakingText{noon}}},
		{"LockKey that handles its nil", []any{"none", handlesNil{}, &handlesNil{}}},
		{"tags before MarshalText", []any{"a", textualTagged{"a", "b"}, textualTagged{"a", "c"}}},
		{"messages", []any{
			&message{OrderId: "o", Payment: &message_Card{"4"}},
			&message{OrderId: "o", Payment: &message_Card{"4"}, Tags: []string{}, XXX_sizecache: 3, sizeCache: 4, unknownFields: []byte("x")},
			&message{OrderId: "o", Payment: &message_Iban{"4"}}, // a oneof is the field that is set
			[]any{"o", nil, "4"},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			want := mustEncode(t, c.same[0])
			for i, v := range c.same {
				if got := mustEncode(t, v); got != want {
					t.Errorf("%d: %T %v: got %q, want %q as of %T", i, v, v, got, want, c.same[0])
				}
			}
		})
	}
}

// Parameters come from untrusted clients: none of these may have the lock of another, although the
// text of one is part of the text of the other.
//
// Row 25 (any): different parameters have different keys. Fails if ":" is not escaped.
func TestEncodeDifferent(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	values := []any{
		"", 0, false, 5, '5', 0.1, "abc", uint64(math.MaxUint64), -1,
		isValid{1, false}, isValid{2, false},
		"a", "A", "a ", "a\x00", "\x00a", "{a}", "(a)", "é", "e\u0301", "\xff", "\ufffd", "\xc3", "１", "1", "01", "+1", "007", 7, "nil", "<nil>", "5.0", "0x5", "~", "%", "%25", ":",
		[]any{"a", "b"}, []any{"ab"}, []any{"a", "", "b"}, []any{[]any{"a", "c"}, "b"}, []any{"a", []any{"c", "b"}}, []any{"a", "c", "b"}, []any{"b", "a"}, "a,b", `["a","b"]`, "a:b", "a%3Ab",
		[]any{"", ""}, []any{nil, nil, nil}, []any{"a:b", "c"}, []any{"a", "b:c"}, []any{"a", "b", "c"}, []any{"a", "b%3Ac"}, "(a:b)", []any{"(a", "b)"},
		[]string{"a", "bc"}, []string{"abc", ""}, []string{"", "abc"}, []string{"a:bc"}, [][]string{{"a", "b"}, {"c", "d"}}, [][]string{{"a", "b", "c"}, {"d"}}, []any{[]any{"a", "b"}, "c", "d"},
		map[string]any{"a": "b", "d": nil}, map[string]any{"a": map[string]any{"x": "c"}},
		order{1, "a", 1}, order{1, "a", 2}, order{1, "b", 1}, order{2, "a", 1}, embedsBase{base{3}}, embedsKey{keyedBase{4}, ""},
		// The promoted method must not hide the ID.
		embedsTime{now, 1}, embedsTime{now, 2}, embedsTime{now.Add(1), 1}, now, now.Add(1), embedsTimestamp{&Timestamp{1, 1}, 1}, embedsTimestamp{&Timestamp{1, 1}, 2},
		&message{OrderId: "o"}, &message{OrderId: "p"}, &message{Tags: []string{"o"}}, &message{Payment: &message_Card{"4"}},
		[]map[string]int{{"a": 1, "b": 2}}, []any{map[string]int{"a": 1, "b": 2}, map[string]int{"c": 3, "d": 4}}, []any{map[string]int{"a": 1}, map[string]int{"b": 2, "c": 3, "d": 4}},
		map[any]int{int32(5): 1, int64(5): 2}, map[any]int{int32(5): 1}, map[any]int{int32(5): 2},
	}
	seen := map[string]any{}
	for _, v := range values {
		encoded := mustEncode(t, v)
		if other, dup := seen[encoded]; dup {
			t.Errorf("%T %#v and %T %#v share %q", v, v, other, other, encoded)
		}
		seen[encoded] = v
	}
}

// Entries are in one order even if their keys have one encoding.
func TestEncodeMapIsStable(t *testing.T) {
	t.Parallel()
	make1 := func() any {
		return map[any]any{int8(5): "a", int16(5): "b", int32(5): "c", ptr("p"): 1, ptr("p"): 2, "m": map[*int]int{ptr(1): 1, ptr(1): 2}}
	}
	want := mustEncode(t, make1())
	for range 100 {
		if got := mustEncode(t, make1()); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
}
