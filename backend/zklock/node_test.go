package zklock_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/distlock-go/distlock/backend/zklock"
)

const guid = "9f0a3c52-7c1e-4e59-8a86-7d1d1a4b7c11"

// lineOf makes the names of a line: w is Curator's writer, x an exclusive one, r a
// reader, and a digit one that asks for one of so many permits.
func lineOf(kinds string) (names []string) {
	for i, k := range kinds {
		tag := map[rune]string{'x': "lock-", 'w': "__WRIT__", 'r': "__READ__"}[k]
		if tag == "" {
			tag = "__PERMIT" + string(k) + "__"
		}
		names = append(names, fmt.Sprintf("_c_%s-%s%010d", guid, tag, i+7))
	}
	return names
}

func TestBlockers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line string
		i    int
		want []int
	}{
		{"x", 0, nil},
		{"xx", 1, []int{0}},
		{"xxxx", 3, []int{2}}, // the predecessor only
		{"rrr", 2, nil},
		{"rrx", 2, []int{1}},
		{"rxr", 2, []int{1}},
		{"xrrr", 3, []int{0}}, // not the reader before
		{"rwrwrr", 5, []int{3}},
		{"wrx", 2, []int{1}},
		{"3", 0, nil},
		{"333", 2, nil},
		{"3333", 3, []int{0, 1, 2}},
		{"33333", 4, []int{1, 2, 3}},
		{"22233", 4, []int{1, 2, 3}},
		{"x3", 1, []int{0}},
		{"3x33", 3, []int{1}},
		{"33x", 2, []int{1}},
		{"3r", 1, []int{0}},
		{"r3", 1, []int{0}},
		{"1r1", 2, []int{1}},
	} {
		names := lineOf(c.line)
		var want []string
		for _, j := range c.want {
			want = append(want, names[j])
		}
		got, err := zklock.Blockers(names, c.i)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("number %d in %s waits for %q, %v; want %q", c.i, c.line, got, err, want)
		}
	}
}

func TestOrderOfNodes(t *testing.T) {
	t.Parallel()
	names := []string{
		"_c_ffffffff-7c1e-4e59-8a86-7d1d1a4b7c11-lock-0000000003",
		"_c_00000000-7c1e-4e59-8a86-7d1d1a4b7c11-__WRIT__0000000010",
		"_c_9f0a3c527c1e4e598a867d1d1a4b7c11-lock-0000000001", // the client library's
		"lock-0000000002", // Curator's, unprotected
		"_c_aaaaaaaa-7c1e-4e59-8a86-7d1d1a4b7c11-__READ__0000000004",
		"locks", "leases", "lock-", "lock-x000000001", "_c_", "", "keep",
		"_c_9f0a3c52-7c1e-4e59-8a86-7d1d1a4b7c11-__PERMIT0__0000000001",
		"_c_9f0a3c52-7c1e-4e59-8a86-7d1d1a4b7c11-__PERMITx__0000000001",
	}
	want := []string{names[2], names[3], names[0], names[4], names[1]}
	got, holders, err := zklock.Order(names)
	if err != nil || !slices.Equal(got, want) || holders != 1 {
		t.Errorf("%q, %d, %v; want %q, 1", got, holders, err, want)
	}
	for kinds, want := range map[string]int{"": 0, "xx": 1, "rrr": 3, "rrxr": 2, "xrr": 1, "2222": 2, "22x": 2, "32": 2} {
		if _, n, err := zklock.Order(lineOf(kinds)); err != nil || n != want {
			t.Errorf("%d of %s hold the key, %v; want %d", n, kinds, err, want)
		}
	}
	for _, number := range []string{"-2147483648", "-0000000001", "2147483647"} {
		if _, _, err := zklock.Order([]string{"_c_" + guid + "-lock-" + number}); err == nil {
			t.Errorf("the number %s is accepted", number)
		}
	}
}

func TestGUID(t *testing.T) {
	t.Parallel()
	if g := zklock.GUID(guid + "@web-3/1432"); g != guid {
		t.Errorf("a UUID with a name becomes %s", g)
	}
	if g := zklock.GUID(guid); g != guid {
		t.Errorf("a UUID becomes %s", g)
	}
	seen := map[string]string{}
	for _, owner := range []string{"a", "b", "9F0A3C52-7C1E-4E59-8A86-7D1D1A4B7C11", "9f0a3c527c1e4e598a867d1d1a4b7c11", "{" + guid + "}", "urn:uuid:" + guid, guid} {
		g := zklock.GUID(owner)
		if _, err := uuid.Parse(g); err != nil || len(g) != 36 || g != zklock.GUID(owner) {
			t.Errorf("%q becomes %q", owner, g)
		}
		if other, ok := seen[g]; ok {
			t.Errorf("%q and %q are both %s", owner, other, g)
		}
		seen[g] = owner
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	var last uint64
	for _, zxid := range []int64{1, 2, 0x100000001, 1<<58 - 2, 1<<58 - 1} {
		for _, n := range []int{-1, 1, 64, 1000} {
			a, b, err := zklock.Tokens(zxid, n)
			if err != nil || a <= last || b < a || b-a >= 64 || b-a >= uint64(max(n, 1)) {
				t.Errorf("of %#x, %d tokens: %d to %d, %v; before was %d", zxid, n, a, b, err, last)
			}
			if n == 1000 {
				last = b
			}
		}
	}
	for _, zxid := range []int64{0, -1, 1 << 58, math.MaxInt64, math.MinInt64} {
		if _, _, err := zklock.Tokens(zxid, 1); err == nil {
			t.Errorf("tokens of %#x", zxid)
		}
	}
}

// TestMaxLease plays the worst case that the bound is derived for, see there.
func TestMaxLease(t *testing.T) {
	t.Parallel()
	for _, tick := range []time.Duration{100 * time.Millisecond, 2 * time.Second} {
		for ticks := 3; ticks <= 20; ticks++ {
			timeout := time.Duration(ticks) * tick
			gone := timeout - timeout/3 - tick/2
			if l := zklock.MaxLease(timeout); l <= 0 || l > gone {
				t.Errorf("a lease of %v, and a session of %v that may end after %v", l, timeout, gone)
			}
		}
	}
}

// TestSniffer reads what a server says, in pieces of every size.
func TestSniffer(t *testing.T) {
	t.Parallel()
	packet := func(b ...byte) []byte { return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...) }
	reply := func(zxid uint64, body ...byte) []byte {
		head := binary.BigEndian.AppendUint32(nil, 42)
		head = binary.BigEndian.AppendUint64(head, zxid)
		return packet(append(append(head, 0, 0, 0, 0), body...)...)
	}
	text := func(s string) []byte { return packet([]byte(s)...) }
	hello := binary.BigEndian.AppendUint32(make([]byte, 4), 4000)
	hello = binary.BigEndian.AppendUint64(hello, 0x1234)
	path := "/distlock/a/_c_" + guid + "-lock-0000000001"
	said := slices.Concat(
		packet(append(hello, text("password........")...)...),
		reply(7),
		reply(8, text(path)...),
		reply(9, text("/elsewhere")...),
		reply(10, append(text("/distlock/a/_c_data"), 1, 2, 3)...),
		reply(11, make([]byte, 10_000)...),
		reply(12, text(path+"2")...),
	)
	for size := 1; size <= len(said); size += 1 + size/3 {
		id, timeout, births := zklock.Sniff(slices.Collect(slices.Chunk(said, size))...)
		if id != 0x1234 || timeout != 4*time.Second || len(births) != 2 || births[path] != 8 || births[path+"2"] != 12 {
			t.Fatalf("in pieces of %d: session %#x, %v, nodes %v", size, id, timeout, births)
		}
	}
}

// TestAnswerAfterTheEnd: an answer that is there counts, also if the process has stood
// still for so long that the time for it is over.
func TestAnswerAfterTheEnd(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for range 100 {
		if v, err := zklock.Answer(ctx, 42); v != 42 || err != nil {
			t.Fatalf("%d, %v", v, err)
		}
	}
}
