package zklock_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
)

// TestInspectSemaphore: Inspect of the key shows a semaphore of Curator as foreign.
func TestInspectSemaphore(t *testing.T) {
	t.Parallel()
	addr := shared.Server(t).Addr()
	admin := newAdmin(t, addr)
	b := newBackend(t, []string{addr})
	key := "semaphore-" + uuid.NewString()
	keepParent(t, admin, key)
	plant(t, admin, parentOf(key)+"/leases", 0)
	infos, err := b.Inspect(context.Background(), key, 1)
	if err != nil || len(infos) != 1 || infos[0].Foreign != "InterProcessSemaphoreV2" || infos[0].Held != 1 || len(infos[0].Holders) != 1 {
		t.Errorf("Inspect of the key: %+v, %v", infos, err)
	}
	infos, err = b.Inspect(context.Background(), key[:len(key)-1], 1)
	if err != nil || len(infos) != 0 {
		t.Errorf("Inspect of a prefix: %+v, %v", infos, err)
	}
}
