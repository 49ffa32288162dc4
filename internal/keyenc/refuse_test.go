package keyenc_test

import (
	"context"
	"errors"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/keyenc"
)

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
	selfMap := map[string]any{}
	selfMap["m"] = selfMap
	long := strings.Repeat("é", 30)
	selfMapLong := map[string]any{}
	selfMapLong[long] = selfMapLong
	var deep any = 1
	for range keyenc.MaxNesting + 1 {
		deep = []any{deep}
	}
	big1 := strings.Repeat("x", keyenc.MaxEncoded/2)
	for _, c := range []struct {
		name   string
		params any
		want   string // in the error
	}{
		{"function", func() {}, "params: func() cannot"},
		{"channel", make(chan int), "chan int"},
		{"context", t.Context(), "context"},
		{"Skip", keyenc.Skip, "Skip"},
		{"Skip in a list", []any{keyenc.Skip}, "params[0]: Skip"},
		{"NaN", math.NaN(), "NaN"},
		{"complex number", complex(1, 1), "complex128 cannot"},
		{"String panics", status(9), "status: String panicked"},
		{"NaN in a map", map[string]any{"a b": math.NaN()}, `params["a b"]: NaN`},
		{"NaN in a map of anything", map[any]any{uint(3): math.NaN()}, `params[3]: NaN`},
		{"static field", struct{ Req *item }{}, "params.Req.Callback: func()"},
		{"static field, not reached", []item{}, "params[].Callback: func()"},
		{"static field of maps", map[string]map[string]item{}, "params[][].Callback"},
		{"map key", map[any]int{make(chan int): 1}, "params[key]: chan int"},
		{"dynamic field", &dynamic{Items: []any{1, 2, 3, item{}}}, "keyenc_test.dynamic.Items[3].Callback: func()"},
		{"dynamic type with a fault that the value hides", dynamic{Items: []any{(*item)(nil)}}, "keyenc_test.dynamic.Items[0].Callback: func()"},
		{"only unexported fields", sync.Mutex{}, "sync.Mutex: sync.Mutex has no field"},
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
		{"LockKey promoted through nil", embedsSpeaker{}, "LockKey panicked"},
		{"MarshalText fails", failsToText{}, "no text today"},
		{"time out of range", time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), "time.Time"},
		{"method of an embedded unexported type", embedsHidden{}, "embedsHidden.hiddenText: is of an unexported type"},
		{"opaque message", &opaqueMessage{}, "no field"},
		{"cycle", ring, "without end"},
		{"cycle of pointers", self, "without end"},
		{"cycle of maps", selfMap, "without end"},
		{"cycle of maps with a long key", selfMapLong, "without end"},
		{"too deep", deep, "nested deeper than 64 levels"},
		{"large string", strings.Repeat("x", keyenc.MaxEncoded+1), "over 1048576 bytes"},
		{"large array", &[keyenc.MaxEncoded + 1]struct{}{}, "over 1048576 bytes"},
		{"large in sum", []string{big1, big1}, "over 1048576 bytes"},
		{"large LockKey", speaker{a: big1 + big1 + "x"}, "over 1048576 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := encode(c.params)
			if err == nil {
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v does not say %q", err, c.want)
			}
			if c.name == "MarshalText fails" && !errors.Is(err, errText) {
				t.Errorf("%v does not wrap the method's error", err)
			}
			if n := len(err.Error()); n > 512 {
				t.Errorf("an error of %d bytes, which strangers choose", n)
			}
		})
	}
}

type ctxOnly struct{ Ctx context.Context }

func TestEncodeLimitsAreReached(t *testing.T) {
	t.Parallel()
	var deep any = 1
	for range keyenc.MaxNesting {
		deep = []any{deep}
	}
	mustEncode(t, deep)
	mustEncode(t, strings.Repeat("x", keyenc.MaxEncoded-8))
	type list struct{ Next *list }
	var l *list
	for range keyenc.MaxNesting {
		l = &list{l}
	}
	mustEncode(t, l)
}

// A branching cycle must end at the size limit, not after 2^64 steps.
func TestEncodeBranchingCycleEnds(t *testing.T) {
	t.Parallel()
	type tree struct{ L, R *tree }
	root := &tree{}
	root.L, root.R = root, root
	if _, err := encode(root); err == nil {
		t.Error("no error")
	}
	var wide any = []any{}
	for range 60 {
		wide = []any{wide, wide}
	}
	if _, err := encode(wide); err == nil {
		t.Error("no error")
	}
}

func TestLockTag(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tag string
		ok  bool
	}{
		{``, true},
		{`lock:"key"`, true},
		{`json:"a" lock:"key" xml:"b"`, true},
		{`json:"lock:x" db:"lock"`, true},
		{`block:"x" locks:"y" lock_for:"z"`, true},
		{`just text about a lock: here`, true},
		{`lock:"KEY"`, false},
		{`lock:"key,omitempty"`, false},
		{`lock:key`, false},
		{`lock: "key"`, false},
		{`Lock:"key"`, false},
		{`json:"a",lock:"key"`, false},
	} {
		typ := reflect.StructOf([]reflect.StructField{{
			Name: "A", Type: reflect.TypeFor[int](), Tag: reflect.StructTag(c.tag),
		}, {Name: "B", Type: reflect.TypeFor[int]()}})
		err := keyenc.CheckType(typ)
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
		want string // "" if it is valid
	}{
		{reflect.TypeFor[order](), ""},
		{reflect.TypeFor[any](), ""},
		{reflect.TypeFor[node](), ""},
		{reflect.TypeFor[embedsContext](), ""},
		{reflect.TypeFor[*message](), ""},
		{reflect.TypeFor[speakingFunc](), ""},
		{reflect.TypeFor[context.Context](), "context.Context: a context"},
		{reflect.TypeFor[*bad](), "keyenc_test.bad.Done: chan int"},
		{reflect.TypeFor[[]map[string]*bad](), "params[][].Done: chan int"},
	} {
		err := keyenc.CheckType(c.typ)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%v: %v", c.typ, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%v: got %v, want %q", c.typ, err, c.want)
		}
	}
}

// The planner ends on types that embed each other.
type (
	loopA struct {
		*loopB
		A int
	}
	loopB struct{ *loopA }
)

func TestEncodeRecursiveEmbedding(t *testing.T) {
	t.Parallel()
	mustEncode(t, loopA{A: 1})
	if mustEncode(t, loopA{loopB: &loopB{&loopA{A: 1}}}) == mustEncode(t, loopA{loopB: &loopB{&loopA{A: 2}}}) {
		t.Error("what is embedded deeper does not count")
	}
}
