package zklock_test

import (
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"

	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/zktest"
)

// TestInspectForeign: Inspect of the key shows an ephemeral node of another program and
// a semaphore of Curator, as long as they are there, and no other node.
func TestInspectForeign(t *testing.T) {
	t.Parallel()
	addr := zktest.Shared(t).Addr()
	admin := newAdmin(t, addr)
	b := newBackend(t, []string{addr})
	for node, c := range map[string]struct {
		flags int32
		what  string
	}{"/lock": {zk.FlagEphemeral, "ephemeral node"}, "/leases": {0, "InterProcessSemaphoreV2"}} {
		key := "foreign-" + uuid.NewString() // some nodes stay, and the test may run again
		keepParent(t, admin, key)
		plant(t, admin, parentOf(key)+"/config", 0) // not ephemeral: not a lock
		path := plant(t, admin, parentOf(key)+node, c.flags)
		infos, err := b.Inspect(t.Context(), key, 1)
		if err != nil || len(infos) != 1 || infos[0].Foreign != c.what || infos[0].Held != 1 || len(infos[0].Holders) != 1 {
			t.Errorf("Inspect beside %s: %+v, %v", node, infos, err)
		}
		if infos, err := b.Inspect(t.Context(), key[:len(key)-1], 1); err != nil || len(infos) != 0 {
			t.Errorf("Inspect of a prefix: %+v, %v", infos, err)
		}
		if err := admin.Delete(path, -1); err != nil {
			t.Fatal(err)
		}
		if infos, err := b.Inspect(t.Context(), key, 1); err != nil || len(infos) != 0 {
			t.Errorf("Inspect without it: %+v, %v", infos, err)
		}
		testkit.MustRelease(t, b, testkit.MustTry(t, b, testkit.NewRequest(key)))
	}
}
