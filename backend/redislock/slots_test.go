package redislock_test

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/keyenc"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// weird are valid keys that are easily misread: patterns, quotes, names of companions,
// encoded text.
var weird = []string{
	"a", "A", ":", "::", ":gone", ":queue", "a:gone", "a:queue", "a:gone:queue", "distlock:clock:", "distlock:inbox:", "-", "0", "*", "a*", "a?c", "[a-c]", `a\`, `\`, `"a"`,
	"{a}", "{a}b", "b{a}", "a{b}c", "{a}:queue:b", "{:}", "{🔑}:1", "distlock:{clock}",
	"'a'", "(", "a|b", "$-1", "%7Ba%7D", "%00", "../a", "é", "e\u0301", "鍵:1", "🔑", "\ufffd", "\u200b", "<a>", "KEYS[1]", "--", ";", strings.Repeat("x", keyenc.MaxKeyLen),
}

// useWeird acquires and releases a lock of each kind, with a waiter and a renewal.
func useWeird(t *testing.T, l *distlock.Locker, b *redislock.Backend, key string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for _, o := range []distlock.Opts{{}, {Mode: driver.Shared}, {Permits: 1}} {
		s, err := l.Acquire(ctx, key, o)
		if err != nil {
			t.Fatalf("%q: %v", key, err)
		}
		r := request(key)
		r.Mode, r.Permits = o.Mode, o.Permits
		if o.Mode == driver.Shared {
			r.Mode = driver.Exclusive // it has to wait
		}
		w := testkit.StartWaiter(t, b, r)
		// It need not wait: in either case it gets the key.
		noError(t, s.Refresh(t.Context()))
		noError(t, s.Release(t.Context()))
		mustRelease(t, b, w.Served(t))
	}
}

// A Cluster refuses a script with keys of several slots.
//
// Row 25 (redislock): all keys of a lock are in one slot, also if many share a message.
// Fails if the companions have no braces around the key, or do not begin with its hash
// tag.
func TestSlots(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	servers := redistest.StartCluster(t, 3)
	client := redistest.ClusterClient(t, servers)
	b := newBackend(t, client)
	l := distlock.New(redislock.New(wrapped{client}, unhurried), distlock.Config{HandOverTime: -1})
	defer l.Close()
	slots := make(map[uint16]bool)
	for _, key := range weird {
		if got := uint16(client.ClusterKeySlot(t.Context(), key).Val()); got != redislock.SlotOf(key) {
			t.Fatalf("%q: the Cluster says slot %d, the Backend %d", key, got, redislock.SlotOf(key))
		}
		useWeird(t, l, b, key)
		slots[redislock.SlotOf(key)] = true
	}
	if len(slots) < len(weird)/2 {
		t.Errorf("only %d slots", len(slots))
	}

	// Many at once, which share pipelines.
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			key := weird[i%len(weird)]
			if len(key) < 100 {
				key += strconv.Itoa(i)
			}
			if err := l.Do(t.Context(), key, distlock.Opts{}, func(context.Context) error { return nil }); err != nil {
				t.Errorf("%q: %v", key, err)
			}
		})
	}
	all.Wait()
	nothingLeft(t, servers...)
}

// A client of one server, which is a whole Cluster, takes each token from the clock of
// the slot, also if its first keys are in the slot of the clock without a tag.
func TestSlotsOfOneServer(t *testing.T) {
	t.Parallel()
	s := redistest.StartCluster(t, 1)[0]
	b := newBackend(t, s.Client(t))
	for _, key := range []string{"{distlock:clock}", "{distlock:clock}", "{distlock:clock}", "{distlock:clock}", lockKey} {
		r := request(key)
		g, err := b.Enqueue(t.Context(), r)
		noError(t, err)
		mustRelease(t, b, g)
		clock := redislock.SlotClock(clockKey, key)
		if got := s.Client(t).Get(t.Context(), clock).Val(); got != strconv.FormatUint(g.LastToken, 10) {
			t.Errorf("%q got the token %d, and %q has %q", key, g.LastToken, clock, got)
		}
	}
}
