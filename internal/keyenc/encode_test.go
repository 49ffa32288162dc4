package keyenc_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/keyenc"
)

// encode returns the encoding of params.
func encode(params any) (string, error) {
	e := keyenc.NewEncoder()
	defer e.Free()
	err := e.Encode(params)
	return string(e.Encoded()), err
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
	// reordered is an order of another type with another order of fields.
	reordered struct {
		Qty int
		SKU string
		ID  int64
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
		{"integers by value", []any{5, int8(5), int16(5), int32(5), int64(5), uint(5), uint8(5), uint16(5), uint32(5), uint64(5), age(5), time.Duration(5), time.May}},
		{"negative integers", []any{-5, int8(-5), int64(-5), age(-5)}},
		{"floats by value", []any{0.5, float32(0.5)}},
		{"negative zero", []any{0.0, math.Copysign(0, -1), float32(0)}},
		{"complex zero", []any{complex(0, 0), complex(math.Copysign(0, -1), math.Copysign(0, -1)), complex64(0)}},
		{"strings", []any{"abc", name("abc"), ptr("abc"), ptr(ptr("abc")), ptr[any]("abc")}},
		{"bytes", []any{[]byte("abc"), [3]byte{'a', 'b', 'c'}, &[3]byte{'a', 'b', 'c'}, octets{'a', 'b', 'c'}, [3]octet{'a', 'b', 'c'}, ptr([]byte("abc"))}},
		{"lists", []any{[]any{"a", int64(5)}, [2]any{"a", 5}, []any{name("a"), uint8(5)}, &[2]any{"a", ptr(5)}}},
		{"typed lists", []any{[]int{1, 2}, [2]int64{1, 2}, []any{1, 2}, []*int{ptr(1), ptr(2)}, []age{1, 2}}},
		{"empty lists", []any{[]int{}, []int(nil), []any{}, [0]string{}}},
		{"empty maps", []any{map[string]int{}, map[string]int(nil), map[int]any{}}},
		{"empty bytes", []any{[]byte{}, []byte(nil), [0]byte{}}},
		{"maps", []any{map[string]any{"a": 1, "b": int8(2)}, map[name]int{"b": 2, "a": 1}, map[any]any{"b": 2, name("a"): 1}}},
		{"nils", []any{nil, nilOrder, (*int)(nil), ptr(nilOrder), ptr[any](nil), nilSpeaker, (*time.Time)(nil), (*big.Int)(nil), (*speaker)(nil)}},
		{"structs", []any{one, &one, ptr(&one), reordered{ID: 7, SKU: "u1", Qty: 2}, secretive{ID: 7, SKU: "u1", Qty: 2, cache: map[string]int{"x": 1}}}},
		{"contexts are left out", []any{
			one, withContext{Ctx: t.Context(), ID: 7, SKU: "u1", Qty: 2}, withContext{ID: 7, SKU: "u1", Qty: 2},
			embedsContext{Context: t.Context(), ID: 7, SKU: "u1", Qty: 2}, &embedsContext{ID: 7, SKU: "u1", Qty: 2},
		}},
		{"tags", []any{
			one, leavesOut{ID: 7, SKU: "u1", Qty: 2, Trace: "x", Fn: func() {}},
			onlyKeys{ID: 7, SKU: "u1", Qty: 2, Trace: "y", Fn: func() {}},
		}},
		{"embedded keys", []any{embedsKey{keyedBase{7}, "a"}, embedsKey{keyedBase{7}, "b"}}},
		{"embedded structs", []any{embedsBase{base{7}}, embedsBasePtr{&base{7}}, &embedsBasePtr{&base{7}}}},
		{"instants", []any{noon, noon.In(time.FixedZone("X", 3600)), noon.Local(), &noon, "2026-05-04T12:00:00.000000005Z"}},
		{"instants in structs", []any{onlyTime{noon}, &onlyTime{noon.In(time.FixedZone("X", 3600))}}},
		{"text", []any{"10.0.0.1", netip.MustParseAddr("10.0.0.1"), net.IPv4(10, 0, 0, 1), textual{"10.0.0.1", "b"}, &textual{"10.0.0.1", "c"}, textualPtr{"10.0.0.1", "d"}, &textualPtr{"10.0.0.1", "e"}}},
		{"text of numbers", []any{"12", big.NewInt(12), *big.NewInt(12)}},
		{"text of an integer type", []any{"level-3", textualInt(3)}},
		{"LockKey", []any{"a", speaker{"a", "b"}, &speaker{"a", "c"}, speakerPtr{"a", "b"}, &speakerPtr{"a", "c"}, speakingFunc(func() string { return "a" }), embedsSpeaker{&speaker{a: "a"}}}},
		{"LockKey of a map key and an element", []any{map[any]any{"a": []any{"a"}}, map[speakerPtr][]speakerPtr{{"a", "x"}: {{"a", "y"}}}}},
		{"LockKey before MarshalText", []any{"spoken", speakingText{noon}}},
		{"LockKey that handles its nil", []any{"none", handlesNil{}, &handlesNil{}}},
		{"a single key", []any{int64(7), keyedBase{7}, &keyedBase{7}, struct {
			Note string
			ID   uint8 `lock:"key"`
		}{"x", 7}}},
		{"tags before MarshalText", []any{"a", textualTagged{"a", "b"}, textualTagged{"a", "c"}}},
		{"messages", []any{
			&message{OrderId: "o", Payment: &message_Card{"4"}},
			&message{OrderId: "o", Payment: &message_Card{"4"}, Tags: []string{}, XXX_sizecache: 3, sizeCache: 4, unknownFields: []byte("x")},
		}},
		{"empty messages and structs", []any{struct{}{}, &emptyMessage{}, &emptyMessage{sizeCache: 1}}},
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
// Row 25 (any): different parameters have different keys. Fails if lists are encoded without their
// length.
func TestEncodeDifferent(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	values := []any{
		nil, "", 0, 0.0, false, "5", 5, 5.0, '5', float32(0.1), 0.1, complex(0.1, 0), complex(0, 0.1), []byte("abc"), "abc", uint64(math.MaxUint64), -1,
		"a", "A", "a ", "a\x00", "\x00a", "{a}", "é", "e\u0301", "\xff", "\ufffd", "１", "1", "01", "+1", "nil", "<nil>", "0", "false", []any{nil}, []any{""},
		[]any{"a", "b"}, []any{"ab"}, []any{"a", "", "b"}, []any{[]any{"a"}, "b"}, []any{"a", []any{"b"}}, []any{[]any{"a", "b"}}, []any{"b", "a"}, "a,b", `["a","b"]`,
		[]any{}, map[string]int{}, struct{}{}, []any{[]any{}}, [][]any{{}, {}}, []any{"abc"}, []string{"a", "bc"}, []string{"ab", "c"}, []string{"a:bc"},
		map[string]string{"a": "b"}, map[string]string{"b": "a"}, map[string]any{"a": "b", "c": nil}, map[string]any{"a": map[string]any{"b": "c"}},
		struct{ A string }{"b"}, struct{ A any }{nil}, struct{ B string }{"b"}, struct{ A, B string }{"b", ""}, struct{ A []string }{[]string{"b"}},
		order{1, "a", 1}, order{1, "a", 2}, order{1, "b", 1}, order{2, "a", 1}, embedsBase{base{1}}, embedsBase{base{2}}, embedsBasePtr{}, base{1},
		embedsKey{keyedBase{1}, ""}, embedsKey{keyedBase{2}, ""},
		// The method promoted from time.Time must not hide the ID.
		embedsTime{now, 1}, embedsTime{now, 2}, embedsTime{now.Add(1), 1}, now, now.Add(1),
		&message{OrderId: "o"}, &message{OrderId: "p"}, &message{Tags: []string{"o"}},
		&message{Payment: &message_Card{"4"}}, &message{Payment: &message_Iban{"4"}},
		[]map[string]int{{"a": 1}, {"b": 2}}, []map[string]int{{"a": 1, "b": 2}},
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
