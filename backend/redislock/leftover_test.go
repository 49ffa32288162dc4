package redislock_test

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
)

// clockKey has the last token that the server has issued. In a Cluster there is one for
// each slot, with a tag in braces behind it.
const clockKey = "distlock:clock"

// useEach acquires and releases each key in each mode, with waiters in another process.
func useEach(t *testing.T, b, other *redislock.Backend, keys []string) {
	t.Helper()
	const workers = 16
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := w; i < len(keys); i += workers {
				for _, ask := range modes {
					var two sync.WaitGroup
					for _, b := range []*redislock.Backend{b, other} {
						two.Go(func() {
							g, err := b.Acquire(t.Context(), ask(keys[i]))
							if err != nil {
								t.Errorf("%s: %v", keys[i], err)
								return
							}
							if got := driver.RenewAll(t.Context(), b, []driver.Grant{g}); got[0].Status != driver.Renewed {
								t.Errorf("%s: renewal: %+v", keys[i], got[0])
							}
							if err := b.Release(t.Context(), g); err != nil {
								t.Errorf("%s: release: %v", keys[i], err)
							}
						})
					}
					two.Wait()
				}
			}
		})
	}
	all.Wait()
}

// withoutTombstones removes those of the keys that have tombstones, which are few: only on
// a slow machine is an owner in doubt.
func withoutTombstones(t *testing.T, keys []string) []string {
	t.Helper()
	others := slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return strings.HasSuffix(key, "}:gone") })
	if n := len(keys) - len(others); n > 10 {
		t.Errorf("%d keys have tombstones", n)
	}
	return others
}

// A key that nobody uses needs no memory: tombstones are for owners in doubt only.
func TestOrdinaryLocksLeaveOneKey(t *testing.T) {
	s := realServer(t)
	keys := make([]string, 1000)
	for i := range keys {
		keys[i] = "k" + strconv.Itoa(i)
	}
	useEach(t, newBackend(t, s.Client), newBackend(t, s.real.Client(t)), keys)
	left := withoutTombstones(t, s.Keys(t.Context(), "*").Val())
	if !slices.Equal(left, []string{clockKey}) {
		t.Errorf("%d keys are left: %q", len(left), left[:min(len(left), 10)])
	}
}

// In a Cluster, locks leave one key for each slot.
func TestOrdinaryLocksLeaveOneKeyForEachSlot(t *testing.T) {
	servers := redistest.StartCluster(t, 3)
	b := newBackend(t, redistest.ClusterClient(t, servers))
	slots := make(map[int]bool)
	var keys []string
	for i := range 300_000 {
		// Different tags in the same slots: one in each server.
		key := "k" + strconv.Itoa(i)
		if slot := slotOf(key); slot == 7 || slot == 7777 || slot == 16_000 {
			slots[slot] = true
			keys = append(keys, key)
		}
	}
	if len(keys) < 30 || len(slots) != 3 {
		t.Fatalf("%d keys in %d slots", len(keys), len(slots))
	}
	useEach(t, b, b, keys)
	var more []string
	for _, s := range servers {
		for _, key := range withoutTombstones(t, s.Client(t).Keys(t.Context(), "*").Val()) {
			if slot := slotOf(key); slots[slot] && strings.HasPrefix(key, clockKey+":{") {
				delete(slots, slot)
			} else {
				more = append(more, key)
			}
		}
	}
	if len(more) != 0 || len(slots) != 0 {
		t.Errorf("%d more keys are left: %q; no key in the slots %v", len(more), more[:min(len(more), 10)], slots)
	}
}
