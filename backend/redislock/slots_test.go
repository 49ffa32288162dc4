package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/keyenc"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// keyWatch is a hook that records the keys of every script.
type keyWatch struct {
	mu      sync.Mutex
	scripts [][]string
}

var _ redis.Hook = (*keyWatch)(nil)

func (w *keyWatch) note(cmds ...redis.Cmder) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, cmd := range cmds {
		args := cmd.Args()
		if name := cmd.Name(); name != "eval" && name != "evalsha" {
			continue
		}
		n, _ := strconv.Atoi(fmt.Sprint(args[2]))
		var keys []string
		for _, arg := range args[3 : 3+n] {
			if p, ok := arg.(*string); ok {
				arg = *p
			}
			keys = append(keys, arg.(string))
		}
		w.scripts = append(w.scripts, keys)
	}
}

// take returns the records since the last call.
func (w *keyWatch) take() [][]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	scripts := w.scripts
	w.scripts = nil
	return scripts
}

func (w *keyWatch) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (w *keyWatch) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		w.note(cmd)
		return next(ctx, cmd)
	}
}

func (w *keyWatch) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		w.note(cmds...)
		return next(ctx, cmds)
	}
}

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

// Row 25 (redislock): all keys of a lock are in one slot and belong to no other lock;
// braces that are not one hash tag are refused before. Fails if the companions have no
// braces around the key, or do not begin with its hash tag.
func TestSlots(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	servers := redistest.StartCluster(t, 3)
	client := redistest.ClusterClient(t, servers)
	watch := new(keyWatch)
	client.AddHook(watch)
	b := newBackend(t, client)
	// The hooks of a wrapped client see renewals and releases, too.
	l := distlock.New(redislock.New(wrapped{client}, unhurried), distlock.Config{HandOverTime: -1})
	defer l.Close()
	// The first call through a wrapped client finds out that keys are in slots.
	noError(t, l.Do(t.Context(), "warm", distlock.Opts{}, func(context.Context) error { return nil }))
	watch.take()

	owner := make(map[string]string) // by key in Redis
	slots := make(map[uint16]bool)
	for _, key := range weird {
		if got := uint16(client.ClusterKeySlot(t.Context(), key).Val()); got != redislock.SlotOf(key) {
			t.Fatalf("%q: the Cluster says slot %d, the Backend %d", key, got, redislock.SlotOf(key))
		}
		useWeird(t, l, b, key)
		scripts := watch.take()
		if len(scripts) < 9 {
			t.Errorf("%q: only %d scripts", key, len(scripts))
		}
		for _, keys := range scripts {
			for _, k := range keys {
				if redislock.SlotOf(k) != redislock.SlotOf(key) {
					t.Errorf("%q is in slot %d, its %q in %d", key, redislock.SlotOf(key), k, redislock.SlotOf(k))
				}
				if strings.HasPrefix(k, clockKey) && k != key {
					continue // the clock of the slot
				}
				if other, ok := owner[k]; ok && other != key {
					t.Errorf("%q and %q share %q", key, other, k)
				}
				owner[k] = key
			}
		}
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
	for _, keys := range watch.take() {
		for _, k := range keys {
			if redislock.SlotOf(k) != redislock.SlotOf(keys[0]) {
				t.Fatalf("one script has keys of several slots: %q", keys)
			}
		}
	}

	for _, key := range []string{"{a}{b}", "a{", "a}b", "{}", "{{a}}", "a b", "a\nb", "a\x00", "\xff", "", strings.Repeat("x", keyenc.MaxKeyLen+1)} {
		if _, err := l.TryAcquire(t.Context(), key, distlock.Opts{}); !errors.Is(err, distlock.ErrKey) {
			t.Errorf("%q: %v, want ErrKey", key, err)
		}
	}
	if scripts := watch.take(); len(scripts) != 0 {
		t.Errorf("scripts for keys that are none: %q", scripts)
	}
	nothingLeft(t, servers...)
}
