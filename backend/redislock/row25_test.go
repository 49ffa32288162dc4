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
	"github.com/distlock-go/distlock/internal/redistest"
	"github.com/distlock-go/distlock/internal/testmode"
)

// slotOf is the slot that a Cluster has for a key, from its specification: the
// CRC16 (XMODEM) of what is between the first brace and the next, if that is
// something, else of all of it.
func slotOf(key string) int {
	if _, tagged, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(tagged, "}"); ok && tag != "" {
			key = tag
		}
	}
	var crc uint16
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc % 16384)
}

// keyWatch is a hook that notes the keys of every script that is run.
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

// take returns what was noted since the last time.
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

// weird are keys that are allowed and that somebody may take for something else:
// patterns, quotes, names of companions, text that was encoded already.
var weird = []string{
	"a", "A", ":", "::", ":fence", ":queue", "a:fence", "a:queue", "a:fence:queue", "distlock:inbox:", "-", "0", "*", "a*", "a?c", "[a-c]", `a\`, `\`, `"a"`,
	"'a'", "(", "a|b", "$-1", "%7Ba%7D", "%00", "../a", "é", "e\u0301", "鍵:1", "🔑", "\ufffd", "\u200b", "<a>", "KEYS[1]", "--", ";", strings.Repeat("x", keyenc.MaxKeyLen),
}

// useWeird takes and gives back a lock of each kind, with a waiter and a renewal.
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
			r.Mode = driver.Exclusive // one that has to wait
		}
		w := acquire(ctx, b, r)
		// Not to be sure that it waits: either way it gets the key.
		noError(t, s.Refresh(t.Context()))
		noError(t, s.Release(t.Context()))
		<-w.done
		if w.err != nil {
			t.Errorf("%q: the next: %v", key, w.err)
			continue
		}
		noError(t, b.Release(t.Context(), w.grant))
	}
}

// Whatever a key looks like, all that belongs to its lock is in one slot of a
// Cluster, and nothing of it belongs to the lock of another key. What would be in
// two slots never gets as far.
//
// Row 25 (redislock): all keys that a lock uses are in one slot and are no other
// lock's; keys with braces never get there. Fails if the companions have no braces
// around the key.
func TestRow25Slots(t *testing.T) {
	testmode.Long(t)
	servers := redistest.StartCluster(t, 3)
	client := redistest.ClusterClient(t, servers)
	watch := new(keyWatch)
	client.AddHook(watch)
	b := newBackend(t, client)
	l := distlock.New(redislock.New(client, unhurried), distlock.Config{HandOvers: -1})
	defer l.Close()

	owner := make(map[string]string) // of each key in Redis
	slots := make(map[int]bool)
	for _, key := range weird {
		if got := int(client.ClusterKeySlot(t.Context(), key).Val()); got != slotOf(key) {
			t.Fatalf("%q: the Cluster says slot %d, this test %d", key, got, slotOf(key))
		}
		useWeird(t, l, b, key)
		scripts := watch.take()
		if len(scripts) < 9 {
			t.Errorf("%q: only %d scripts", key, len(scripts))
		}
		for _, keys := range scripts {
			for _, k := range keys {
				if slotOf(k) != slotOf(key) {
					t.Errorf("%q is in slot %d, its %q in %d", key, slotOf(key), k, slotOf(k))
				}
				if other, ok := owner[k]; ok && other != key {
					t.Errorf("%q and %q share %q", key, other, k)
				}
				owner[k] = key
			}
		}
		slots[slotOf(key)] = true
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
			if slotOf(k) != slotOf(keys[0]) {
				t.Fatalf("one script has keys of several slots: %q", keys)
			}
		}
	}

	for _, key := range []string{"{a}b", "a{", "a}b", "{}", "a b", "a\nb", "a\x00", "\xff", "", strings.Repeat("x", keyenc.MaxKeyLen+1)} {
		if _, err := l.TryAcquire(t.Context(), key, distlock.Opts{}); !errors.Is(err, distlock.ErrKey) {
			t.Errorf("%q: %v, want ErrKey", key, err)
		}
	}
	if scripts := watch.take(); len(scripts) != 0 {
		t.Errorf("scripts for keys that are none: %q", scripts)
	}
	for _, s := range servers { // and all of it ends by itself
		c := s.Client(t)
		for _, k := range c.Keys(t.Context(), "*").Val() {
			if ttl := c.PTTL(t.Context(), k).Val(); ttl <= 0 && c.Exists(t.Context(), k).Val() == 1 || ttl > 15*time.Minute {
				t.Errorf("%q ends in %v", k, ttl)
			}
		}
	}
}
