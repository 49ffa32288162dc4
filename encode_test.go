package distlock_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/big"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/distlock-go/distlock"
)

// paramKeys builds keys of parameters under the name "k".
func paramKeys() *distlock.KeyBuilder {
	return distlock.NewKeyBuilder(distlock.Opts{Value: "k", ParamLock: true})
}

func mustKey(t testing.TB, params any) string {
	t.Helper()
	key, err := paramKeys().Key(params)
	if err != nil {
		t.Fatalf("Key(%#v): %v", params, err)
	}
	return key
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
	// reordered is an order of another type with its fields in another order.
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

// base is unexported, but what it promotes is not.
type base struct{ ID int64 }

type (
	embedsBase    struct{ base }
	embedsBasePtr struct{ *base }
	// keyedBase promotes its tag with its field.
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

// speaker says what it is; speakerPtr does so by a pointer receiver.
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

// message is what protoc-gen-go writes, without the runtime.
type (
	message struct {
		state         messageState
		OrderId       string
		Tags          []string
		Payment       isPayment
		XXX_sizecache int32 //nolint:revive // as generated
		unknownFields []byte
		sizeCache     int32
	}
	messageState struct{ _ *int }
	isPayment    interface{ isPayment() }
	message_Card struct{ Card string } //nolint:revive // as generated
	message_Iban struct{ Iban string } //nolint:revive // as generated
	emptyMessage struct {
		state         messageState
		unknownFields []byte
		sizeCache     int32
	}
	opaqueMessage struct {
		state              messageState
		xxx_hidden_OrderId string //nolint:revive // as generated
		XXX_presence       [1]uint32
		unknownFields      []byte
		sizeCache          int32
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
		{"tags before MarshalText", []any{struct{ A string }{"a"}, textualTagged{"a", "b"}}},
		{"messages", []any{
			&message{OrderId: "o", Payment: &message_Card{"4"}},
			&message{OrderId: "o", Payment: &message_Card{"4"}, Tags: []string{}, XXX_sizecache: 3, sizeCache: 4, unknownFields: []byte("x")},
		}},
		{"empty messages and structs", []any{struct{}{}, &emptyMessage{}, &emptyMessage{sizeCache: 1}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			want := mustKey(t, c.same[0])
			for i, v := range c.same {
				if got := mustKey(t, v); got != want {
					t.Errorf("%d: Key(%T %v) = %s, want %s as of Key(%T)", i, v, v, got, want, c.same[0])
				}
			}
		})
	}
}

func TestEncodeDifferent(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	values := []any{
		nil, "", "nil", "\x00", 0, "0", 0.0, false, true, "false", 5, "5", -5, 5.0, '5', "abc", []byte("abc"), "ABC", "a b c",
		math.MaxInt64, math.MinInt64, uint64(math.MaxUint64), uint64(math.MaxInt64) + 1, -1, 1,
		math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64, 0.1, float32(0.1), complex(0.1, 0), complex(0, 0.1),
		[]any{}, map[string]int{}, struct{}{}, []byte{}, []any{nil}, []any{""}, []any{[]any{}}, [][]any{{}, {}},
		[]any{"abc"}, []string{"a", "bc"}, []string{"ab", "c"}, []string{"a", "b", "c"}, []string{"a:bc"}, "a:bc", []string{"a,b", "c"},
		[]any{"a", []any{"b", "c"}}, []any{[]any{"a", "b"}, "c"}, []any{"a", "5"}, []any{"a", 5}, []any{5, "a"},
		map[string]string{"a": "b"}, map[string]string{"b": "a"}, map[string]any{"a": "b", "c": nil}, map[string]any{"a": map[string]any{"b": "c"}},
		struct{ A string }{"b"}, struct{ A any }{nil}, struct{ B string }{"b"}, struct{ A, B string }{"b", ""}, struct{ A []string }{[]string{"b"}},
		order{1, "a", 1}, order{1, "a", 2}, order{1, "b", 1}, order{2, "a", 1}, embedsBase{base{1}}, embedsBase{base{2}}, embedsBasePtr{}, base{1},
		embedsKey{keyedBase{1}, ""}, embedsKey{keyedBase{2}, ""},
		// The method promoted from time.Time must not swallow the ID.
		embedsTime{now, 1}, embedsTime{now, 2}, embedsTime{now.Add(1), 1}, now, now.Add(1),
		&message{OrderId: "o"}, &message{OrderId: "p"}, &message{Tags: []string{"o"}},
		&message{Payment: &message_Card{"4"}}, &message{Payment: &message_Iban{"4"}},
		[]map[string]int{{"a": 1}, {"b": 2}}, []map[string]int{{"a": 1, "b": 2}},
		map[any]int{int32(5): 1, int64(5): 2}, map[any]int{int32(5): 1}, map[any]int{int32(5): 2},
		"\xff", "\xfe", "\ufffd", "é", "e\u0301",
	}
	seen := map[string]any{}
	for _, v := range values {
		key := mustKey(t, v)
		if other, dup := seen[key]; dup {
			t.Errorf("%T %#v and %T %#v share %s", v, v, other, other, key)
		}
		seen[key] = v
	}
}

// Entries whose keys are encoded alike must be in order all the same.
func TestEncodeMapIsStable(t *testing.T) {
	t.Parallel()
	make1 := func() any {
		return map[any]any{int8(5): "a", int16(5): "b", int32(5): "c", ptr("p"): 1, ptr("p"): 2, "m": map[*int]int{ptr(1): 1, ptr(1): 2}}
	}
	want := mustKey(t, make1())
	for range 100 {
		if got := mustKey(t, make1()); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	t.Parallel()
	type item struct {
		Name     string
		Callback func()
	}
	type dynamic struct{ Items []any }
	type list struct{ Next *list }
	type pointer *pointer
	ring := &list{}
	ring.Next = ring
	var self pointer
	self = &self
	var selfAny any
	selfAny = &selfAny
	selfMap := map[string]any{}
	selfMap["m"] = selfMap
	var deep any = 1
	for range distlock.MaxNesting + 1 {
		deep = []any{deep}
	}
	big1 := strings.Repeat("x", distlock.MaxEncoded/2)
	for _, c := range []struct {
		name   string
		params any
		want   string // in the error
	}{
		{"function", func() {}, "params: func() cannot"},
		{"channel", make(chan int), "chan int"},
		{"unsafe pointer", unsafe.Pointer(nil), "unsafe.Pointer"},
		{"address", uintptr(1), "uintptr"},
		{"context", t.Context(), "context"},
		{"Skip", distlock.Skip, "Skip"},
		{"Skip in a list", []any{distlock.Skip}, "params[0]: Skip"},
		{"Skip behind a pointer", &distlock.Skip, "Skip"},
		{"context in a list", []any{1, t.Context()}, "params[1]: "},
		{"list of contexts", []context.Context{}, "params[]: a context"},
		{"NaN", math.NaN(), "NaN"},
		{"NaN float32", float32(math.NaN()), "NaN"},
		{"NaN in a complex", complex(0, math.NaN()), "NaN"},
		{"NaN as a map key", map[float64]int{math.NaN(): 1}, "params[key]: NaN"},
		{"NaN in a map", map[string]any{"a b": math.NaN()}, `params["a b"]: NaN`},
		{"NaN in a map of integers", map[int]any{-3: math.NaN()}, `params[-3]: NaN`},
		{"NaN in a map of anything", map[any]any{uint(3): math.NaN()}, `params[3]: NaN`},
		{"static field", struct{ Req *item }{}, "params.Req.Callback: func()"},
		{"static field, reached", []item{{}}, "params[0].Callback: func()"},
		{"static field, not reached", []item{}, "params[].Callback: func()"},
		{"named type", &item{}, "distlock_test.item.Callback: func()"},
		{"static field of maps", map[string]map[string]item{}, "params[][].Callback"},
		{"map key", map[any]int{make(chan int): 1}, "params[key]: chan int"},
		{"static map key", map[chan int]int{}, "params[key]: chan int"},
		{"dynamic field", &dynamic{Items: []any{1, 2, 3, item{}}}, "distlock_test.dynamic.Items[3].Callback: func()"},
		{"dynamic type with a fault that the value hides", dynamic{Items: []any{(*item)(nil)}}, "distlock_test.dynamic.Items[0].Callback: func()"},
		{"only unexported fields", sync.Mutex{}, "sync.Mutex: sync.Mutex has no field"},
		{"field with only unexported fields", struct{ Mu sync.Mutex }{}, "params.Mu: sync.Mutex has no field"},
		{"only contexts", struct{ Ctx context.Context }{}, "no field"},
		{"only fields that are left out", struct {
			A int `lock:"-"`
		}{}, "no field"},
		{"only an embedded context in an unexported type", struct{ ctxOnly }{}, "no field"},
		{"unknown tag", struct {
			A int `lock:"keys"`
		}{}, `params.A: has the unknown tag`},
		{"empty tag", struct {
			A int `lock:""`
		}{}, `params.A: has the unknown tag`},
		{"tag on an unexported field", struct {
			A int
			b int `lock:"key"`
		}{}, `params.b: is tagged`},
		{"tag on a context", struct {
			A context.Context `lock:"key"`
		}{}, `params.A: is tagged`},
		{"empty LockKey", speaker{}, "LockKey returned an empty string"},
		{"empty LockKey in a list", []any{&speakerPtr{}}, "params[0]: distlock_test.speakerPtr: LockKey"},
		{"LockKey promoted through nil", embedsSpeaker{}, "LockKey panicked"},
		{"MarshalText fails", failsToText{}, "no text today"},
		{"time out of range", time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), "time.Time"},
		{"method of an embedded unexported type", embedsHidden{}, "embedsHidden.hiddenText: is of an unexported type"},
		{"opaque message", &opaqueMessage{}, "no field"},
		{"cycle", ring, "without end"},
		{"cycle of pointers", self, "without end"},
		{"cycle of interfaces", selfAny, "without end"},
		{"cycle of maps", selfMap, "without end"},
		{"too deep", deep, "nested deeper than 64 levels"},
		{"large string", strings.Repeat("x", distlock.MaxEncoded+1), "over 1048576 bytes"},
		{"large bytes", make([]byte, distlock.MaxEncoded+1), "over 1048576 bytes"},
		{"large array", &[distlock.MaxEncoded + 1]struct{}{}, "over 1048576 bytes"},
		{"large in sum", []string{big1, big1}, "over 1048576 bytes"},
		{"large map", map[string]string{"a": big1, "b": big1}, "over 1048576 bytes"},
		{"large struct", struct{ A, B string }{big1, big1}, "over 1048576 bytes"},
		{"large text", textual{A: big1 + big1}, "over 1048576 bytes"},
		{"large LockKey", speaker{a: big1 + big1 + "x"}, "over 1048576 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			key, err := paramKeys().Key(c.params)
			if key != "" || !errors.Is(err, distlock.ErrKey) {
				t.Fatalf("got %q, %v; want ErrKey", key, err)
			}
			if e, ok := errors.AsType[*distlock.Error](err); !ok || e.Op != "key" {
				t.Errorf("%v is not an *Error of op key", err)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v does not say %q", err, c.want)
			}
		})
	}
}

type ctxOnly struct{ Ctx context.Context }

func TestEncodeKeepsTheMethodsError(t *testing.T) {
	t.Parallel()
	_, err := paramKeys().Key([]any{failsToText{}})
	if !errors.Is(err, errText) || !errors.Is(err, distlock.ErrKey) {
		t.Errorf("%v does not wrap both errors", err)
	}
}

func TestEncodeLimitsAreReached(t *testing.T) {
	t.Parallel()
	var deep any = 1
	for range distlock.MaxNesting {
		deep = []any{deep}
	}
	mustKey(t, deep)
	mustKey(t, strings.Repeat("x", distlock.MaxEncoded-8))
	type list struct{ Next *list }
	var l *list
	for range distlock.MaxNesting {
		l = &list{l}
	}
	mustKey(t, l)
}

// A cycle that branches must end by size, not after 2^64 steps.
func TestEncodeBranchingCycleEnds(t *testing.T) {
	t.Parallel()
	type tree struct{ L, R *tree }
	root := &tree{}
	root.L, root.R = root, root
	if _, err := paramKeys().Key(root); !errors.Is(err, distlock.ErrKey) {
		t.Errorf("got %v", err)
	}
	var wide any = []any{}
	for range 60 {
		wide = []any{wide, wide}
	}
	if _, err := paramKeys().Key(wide); !errors.Is(err, distlock.ErrKey) {
		t.Errorf("got %v", err)
	}
}

func TestLockKeyPanicsPassThrough(t *testing.T) {
	t.Parallel()
	defer func() {
		if r := recover(); r != "mine" {
			t.Errorf("recovered %v", r)
		}
	}()
	_, err := paramKeys().Key(speakingFunc(func() string { panic("mine") }))
	t.Errorf("returned %v", err)
}

func TestLockTag(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tag string
		ok  bool
	}{
		{``, true},
		{`lock:"key"`, true},
		{`lock:"-"`, true},
		{`json:"a" lock:"key" xml:"b"`, true},
		{`json:"lock:x" db:"lock"`, true},
		{`block:"x" locks:"y" lock_for:"z"`, true},
		{`just text about a lock: here`, true},
		{`lock:"KEY"`, false},
		{`lock:"key,omitempty"`, false},
		{`lock:" key"`, false},
		{`lock:key`, false},
		{`lock: "key"`, false},
		{`lock "key"`, false},
		{`lock`, false},
		{`Lock:"key"`, false},
		{`json:"a",lock:"key"`, false},
		{`json:"a" lock:'key'`, false},
	} {
		typ := reflect.StructOf([]reflect.StructField{{
			Name: "A", Type: reflect.TypeFor[int](), Tag: reflect.StructTag(c.tag),
		}, {Name: "B", Type: reflect.TypeFor[int]()}})
		err := distlock.CheckType(typ)
		if (err == nil) != c.ok {
			t.Errorf("tag %s: %v", c.tag, err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "params.A: ") {
			t.Errorf("tag %s: %v does not name the field", c.tag, err)
		}
	}
}

func TestCheckType(t *testing.T) {
	t.Parallel()
	type node struct {
		Left, Right *node
		Children    map[string][]node
	}
	type bad struct {
		Next *bad
		Done chan int
	}
	for _, c := range []struct {
		typ  reflect.Type
		want string // "" means fine
	}{
		{reflect.TypeFor[order](), ""},
		{reflect.TypeFor[*order](), ""},
		{reflect.TypeFor[any](), ""},
		{reflect.TypeFor[fmt.Stringer](), ""},
		{reflect.TypeFor[node](), ""},
		{reflect.TypeFor[embedsContext](), ""},
		{reflect.TypeFor[*message](), ""},
		{reflect.TypeFor[speakingFunc](), ""},
		{reflect.TypeFor[onlyKeys](), ""},
		{reflect.TypeFor[context.Context](), "context.Context: a context"},
		{reflect.TypeFor[*bad](), "distlock_test.bad.Done: chan int"},
		{reflect.TypeFor[[]map[string]*bad](), "params[][].Done: chan int"},
		{reflect.TypeFor[func()](), "params: func()"},
		{reflect.TypeFor[*opaqueMessage](), "distlock_test.opaqueMessage: "},
	} {
		err := distlock.CheckType(c.typ)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%v: %v", c.typ, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%v: got %v, want %q", c.typ, err, c.want)
		}
	}
}

// Mutually recursive embedded types must not send the planner round for ever.
type (
	loopA struct {
		*loopB
		A int
	}
	loopB struct{ *loopA }
)

func TestEncodeRecursiveEmbedding(t *testing.T) {
	t.Parallel()
	mustKey(t, loopA{A: 1})
	if mustKey(t, loopA{loopB: &loopB{&loopA{A: 1}}}) == mustKey(t, loopA{loopB: &loopB{&loopA{A: 2}}}) {
		t.Error("what is embedded deeper does not count")
	}
}

func TestKeyConcurrently(t *testing.T) {
	t.Parallel()
	type fresh struct {
		A map[string]*fresh
		B []any
		C order
	}
	value := fresh{A: map[string]*fresh{"x": {}, "y": nil}, B: []any{order{}, 1, "a"}}
	keys := paramKeys()
	got := make([]string, 32)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() {
			for range 50 {
				key, err := keys.Key(value)
				if err != nil || got[i] != "" && got[i] != key {
					t.Errorf("got %s, %v", key, err)
				}
				got[i] = key
			}
		})
	}
	wg.Wait()
	for _, key := range got {
		if key != got[0] {
			t.Errorf("got %s and %s", key, got[0])
		}
	}
}

// golden pins the encoding: a key that changes lets an old and a new process
// into one lock together. Never update a digest here.
var golden = []struct {
	name   string
	params any
	want   string
}{
	{"nil", nil, "1b16b1df538ba12dc3f97edbb85caa70"},
	{"true", true, "e3b98a4da31a127d4bde6e43033f66ba"},
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

func TestKeyGolden(t *testing.T) {
	t.Parallel()
	for _, g := range golden {
		if got := mustKey(t, g.params); got != "k:"+g.want {
			enc, _ := distlock.Encode(g.params)
			t.Errorf("%s: got %s, want k:%s\nencoding %s", g.name, got, g.want, hex.EncodeToString(enc))
		}
	}
}

// The encoding itself, for who reads keys in another language.
func TestEncodingBytes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		params any
		want   string
	}{
		{nil, "n"},
		{true, "t"},
		{false, "f"},
		{300, "+\xac\x02"},
		{-1, "-\x01"},
		{math.MinInt64, "-\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"},
		{1.0, "d\x3f\xf0\x00\x00\x00\x00\x00\x00"},
		{complex(0, 1), "c\x00\x00\x00\x00\x00\x00\x00\x00\x3f\xf0\x00\x00\x00\x00\x00\x00"},
		{"ab", "s\x02ab"},
		{[]byte("ab"), "b\x02ab"},
		{[]any{"a", 5}, "l\x02s\x01a+\x05"},
		{map[string]int{"b": 1, "a": 2}, "m\x02s\x01a+\x02s\x01b+\x01"},
		{order{ID: 1, SKU: "x", Qty: 2}, "r\x03\x02ID+\x01\x03Qty+\x02\x03SKUs\x01x"},
	} {
		got, err := distlock.Encode(c.params)
		if err != nil || string(got) != c.want {
			t.Errorf("Encode(%v) = %q, %v; want %q", c.params, got, err, c.want)
		}
	}
}

const childEnv = "DISTLOCK_TEST_KEYS_CHILD"

// Keys must not depend on anything that a process draws when it starts.
func TestKeyGoldenInAnotherProcess(t *testing.T) {
	if os.Getenv(childEnv) != "" {
		for _, g := range golden {
			fmt.Printf("key %s\n", mustKey(t, g.params))
		}
		return
	}
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Skip(err)
	}
	for range 2 {
		cmd := exec.CommandContext(t.Context(), exe, "-test.run=^TestKeyGoldenInAnotherProcess$")
		cmd.Env = append(os.Environ(), childEnv+"=1")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		var got []string
		for line := range strings.Lines(string(out)) {
			if key, ok := strings.CutPrefix(line, "key k:"); ok {
				got = append(got, strings.TrimSpace(key))
			}
		}
		if len(got) != len(golden) {
			t.Fatalf("got %d keys, want %d:\n%s", len(got), len(golden), out)
		}
		for i, g := range golden {
			if got[i] != g.want {
				t.Errorf("%s: got %s, want %s", g.name, got[i], g.want)
			}
		}
	}
}
