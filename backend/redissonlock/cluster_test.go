package redissonlock_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/redissonlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// In a Cluster a master that does not answer delays no renewals on others, and a waiter is
// woken also after the slot of its key has moved.
func TestCluster(t *testing.T) {
	testmode.Long(t)
	cluster := redistest.StartClusterWithReplicas(t, 3, 0)
	c := redistest.ClusterClient(t, cluster.Masters)
	b := newBackend(t, c, redissonlock.WithOpTimeout(2*time.Second))

	t.Run("wake", func(t *testing.T) {
		g := testkit.MustTry(t, b, request(lockKey))
		up := newBackend(t, redistest.ClusterClient(t, cluster.Masters)).Wake(t.Context(), lockKey)
		<-up
		slot := cluster.Slot(t, lockKey)
		from := slices.IndexFunc(cluster.Masters, func(s *redistest.Server) bool {
			return s.Client(t).Exists(t.Context(), lockKey).Val() == 1
		})
		cluster.MoveSlot(t, slot, cluster.Masters[from], cluster.Masters[(from+1)%3], func() {})
		select {
		case <-up: // it looks when it listens again
		case <-time.After(time.Minute):
			t.Fatal("it does not listen at the new master")
		}
		testkit.Eventually(t, "the slot is served again", func() bool { return b.Release(t.Context(), g) == nil })
		select {
		case <-up:
		case <-time.After(time.Minute):
			t.Fatal("it was not woken")
		}
	})

	t.Run("silent master", func(t *testing.T) {
		grants := make([]driver.Grant, 12)
		silent := make([]bool, len(grants))
		for i := range grants {
			grants[i] = testkit.MustTry(t, b, request(fmt.Sprint("shop:", i)))
			silent[i] = cluster.Masters[2].Client(t).Exists(t.Context(), grants[i].Key).Val() == 1
		}
		cluster.Masters[2].Stop()
		defer cluster.Masters[2].Cont()
		start := time.Now()
		reports := make(map[int]time.Duration)
		var mu sync.Mutex
		b.Renew(t.Context(), grants, func(i int, r driver.RenewResult) {
			mu.Lock()
			defer mu.Unlock()
			reports[i] = time.Since(start)
			if want := driver.Renewed; !silent[i] && r.Status != want {
				t.Errorf("grant %d: %+v", i, r)
			}
			if silent[i] && r.Status != driver.Unknown {
				t.Errorf("grant %d on the silent master: %+v", i, r)
			}
		})
		for i, d := range reports {
			if !silent[i] && d > time.Second {
				t.Errorf("grant %d was reported after %v", i, d)
			}
		}
		if len(reports) != len(grants) || !slices.Contains(silent, true) || !slices.Contains(silent, false) {
			t.Errorf("%d reports, silent: %v", len(reports), silent)
		}
	})
}
