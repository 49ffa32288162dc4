package javakey_test

import (
	"bytes"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/javakey"
	"github.com/distlock-go/distlock/wiring"
)

// many is the list of testdata/Golden.java with that name.
func many() []string {
	list := make([]string, 1000)
	for i := range list {
		list[i] = "key-" + strconv.Itoa(i*i*i) + string(rune(i*48+32))
		if i%7 == 0 {
			list[i] += "🔑"
		}
	}
	return list
}

// hashed are the values of testdata/Golden.java.
var hashed = map[string]any{
	"string empty":       "",
	"string a":           "a",
	"string order":       "order-4711",
	"string long":        "The quick brown fox jumps over the lazy dog, and then it sleeps.",
	"string collides 1":  "Aa",
	"string collides 2":  "BB",
	"string umlaut":      "Grüße",
	"string decomposed":  "e\u0301",
	"string kanji":       "鍵",
	"string surrogates":  "\U00010000 🔑 and \U0001d11e",
	"string replacement": "\ufffd\uffff",
	"string NUL":         "\x00\x00",
	"bool true":          true,
	"bool false":         false,
	"byte":               int8(-128),
	"short":              int16(-32768),
	"int 0":              0,
	"int -1":             int32(-1),
	"int max":            math.MaxInt32,
	"int min":            int32(math.MinInt32),
	"long -1":            int64(-1),
	"long 7":             uint8(7),
	"long 2^31":          int64(1 << 31),
	"long 2^32":          uint64(1 << 32),
	"long max":           uint64(math.MaxInt64),
	"long min":           int64(math.MinInt64),
	"long mixed":         int64(0x0123456789abcdef),
	"float 0":            float32(0),
	"float -0":           float32(math.Copysign(0, -1)),
	"float 1.5":          float32(1.5),
	"float NaN":          -float32(math.NaN()),
	"float infinite":     float32(math.Inf(-1)),
	"double 0":           0.0,
	"double -0":          math.Copysign(0, -1),
	"double 0.1":         0.1,
	"double -2.75":       -2.75,
	"double NaN":         math.Float64frombits(math.Float64bits(math.NaN()) | 1<<63 | 7),
	"double max":         math.MaxFloat64,
	"double min":         math.SmallestNonzeroFloat64,
	"null":               (*int)(nil),

	"list empty":         []any{},
	"list of null":       []any{nil},
	"list of strings":    []string{"a", "b", "order-4711"},
	"list of mixed":      []any{"u1", 7, nil, int64(-1), true, 1.5, []int{1, 2}},
	"list of lists":      [][][]int{{}, {{}}},
	"list of a thousand": many(),
	"array of Object":    [3]any{"u1", 7, (*string)(nil)},
	"array of int":       []int32{1, -1, math.MinInt32},
	"array of long":      []int64{1, -1, math.MinInt64},
	"array of byte":      []byte{0, 1, 127, 128, 255},
	"array of boolean":   []bool{true, false},
	"array of double":    []float64{0.1, math.Copysign(0, -1), math.NaN()},
	"array of float":     []float32{0.1, float32(math.Copysign(0, -1)), float32(math.NaN())},
}

// made are the keys of testdata/Golden.java.
var made = map[string]struct {
	opts   distlock.Opts
	params any
}{
	"aspect without arguments": {distlock.Opts{Prefix: "my-", Value: "test", KeyFormat: javakey.Aspect}, "u1"},
	"aspect":                   {distlock.Opts{Prefix: "my-", Value: "test", KeyFormat: javakey.Aspect, ParamLock: true}, "order-4711"},
	"aspect with three":        {distlock.Opts{Prefix: "my-", Value: "test", KeyFormat: javakey.Aspect, ParamLock: true}, []any{"u1", int32(-7), int64(-7)}},
	"aspect with null":         {distlock.Opts{Value: "test", KeyFormat: javakey.Aspect, ParamLock: true}, []any{nil, "u1", new(*int)}},
	"aspect with null alone":   {distlock.Opts{Value: "test", KeyFormat: javakey.Aspect, ParamLock: true}, nil},
	"aspect with a list":       {distlock.Opts{Value: "test", KeyFormat: javakey.Aspect, ParamLock: true}, []string{"u1", "u2"}},
	"lock4j without keys":      {distlock.Opts{Value: "pay", KeyFormat: javakey.Lock4j}, nil},
	"lock4j":                   {distlock.Opts{Value: "pay", KeyFormat: javakey.Lock4j, ParamLock: true}, "u1"},
	"lock4j with five":         {distlock.Opts{Value: "pay", KeyFormat: javakey.Lock4j, ParamLock: true}, []any{"u1", -7, uint64(1 << 40), true, (*string)(nil)}},
	"shedlock":                 {distlock.Opts{Value: "report", KeyFormat: javakey.ShedLock("prod")}, nil},
	"shedlock default":         {distlock.Opts{Value: "report", KeyFormat: javakey.ShedLock("default")}, nil},
}

// The hash codes and keys are those that Java has printed.
func TestGolden(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/golden.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for line := range strings.Lines(string(text)) {
		lines++
		name, want, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		var got string
		var err error
		if c, ok := made[name]; ok {
			got, err = wiring.Key(c.opts, c.params)
		} else if v, ok := hashed[name]; ok {
			var h int32
			h, err = javakey.HashCode(v)
			got = strconv.Itoa(int(h))
		} else {
			t.Errorf("%s is only in Java", name)
			continue
		}
		if got != want || err != nil {
			t.Errorf("%s: %s, %v; Java has %s", name, got, err, want)
		}
	}
	if n := len(made) + len(hashed); lines != n {
		t.Errorf("Java has printed %d lines for %d values", lines, n)
	}
}

// Java prints what is in the golden file.
func TestJava(t *testing.T) {
	t.Parallel()
	java, err := child.LookPath("java", "needs Java")
	child.Need(t, err)
	want, err := os.ReadFile("testdata/golden.txt")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), java, "testdata/Golden.java")
	cmd.Stderr = os.Stderr
	got, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("Java prints\n%s\nthe golden file has\n%s", got, want)
	}
}

type account struct{ id int64 }

func (a *account) HashCode() int32 { return int32(31*17 + a.id) }

type weekday int

func (d weekday) String() string { return "a name" }

// A type may bring the hash code of its class.
func TestOwnHashCode(t *testing.T) {
	t.Parallel()
	a := &account{4}
	if h, err := javakey.HashCode(a); h != 531 || err != nil {
		t.Errorf("%d, %v", h, err)
	}
	if h, err := javakey.HashCode([]any{&a, (*account)(nil)}); h != (31+531)*31 || err != nil {
		t.Errorf("in a list: %d, %v", h, err)
	}
}

// A value that Java may see in another way is refused: it would be another lock.
func TestRefused(t *testing.T) {
	t.Parallel()
	self := []any{nil}
	self[0] = self
	type loop *loop
	var around loop
	around = &around
	for name, v := range map[string]any{
		"a negative int":      -1,
		"more than a Long":    uint64(math.MaxInt64) + 1,
		"not UTF-8":           "a\xff",
		"a struct":            struct{ ID int }{1},
		"a map":               map[string]int{"a": 1},
		"a function":          func() {},
		"a channel":           make(chan int),
		"a complex number":    1i,
		"a uintptr":           uintptr(1),
		"a time":              time.Unix(1, 0),
		"an enum":             weekday(1),
		"a duration":          time.Second,
		"in a list":           []any{1, []any{weekday(1)}},
		"a list of itself":    self,
		"a pointer to itself": around,
		"the value of a type with HashCode of the pointer": account{1},
	} {
		if h, err := javakey.HashCode(v); err == nil || !strings.HasPrefix(err.Error(), "javakey: ") {
			t.Errorf("%s: %d, %v", name, h, err)
		}
		if key, err := javakey.Aspect("a", []any{"u1", v}); err == nil {
			t.Errorf("%s: the key %s", name, key)
		}
	}
	for name, v := range map[string]any{
		"a float": 1.5, "a list": []string{"a"}, "bytes": []byte("a"), "an enum": weekday(1), "a pointer to itself": around, "a struct": struct{}{},
	} {
		if key, err := javakey.Lock4j("a", []any{"u1", v}); err == nil {
			t.Errorf("lock4j, %s: the key %s", name, key)
		}
	}
	if key, err := javakey.ShedLock("prod")("a", 1); err == nil {
		t.Errorf("ShedLock with a parameter: %s", key)
	}
}
