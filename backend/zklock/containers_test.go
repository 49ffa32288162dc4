package zklock_test

import (
	"sync"
	"testing"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/zktest"
)

// TestContainersComeAndGo: a key can be used while the server deletes its node as often
// as it can, which it does when the key is not used any more.
func TestContainersComeAndGo(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Config{Properties: []string{
		"znode.container.checkIntervalMs=1", "znode.container.maxPerMinute=100000000",
	}})
	admin := newAdmin(t, server.Addr())
	var backends []*zklock.Backend
	for range 4 {
		backends = append(backends, newBackend(t, []string{server.Addr()}))
	}
	var r testkit.Register
	for range 10 {
		var wg sync.WaitGroup
		for _, b := range backends {
			wg.Go(func() {
				for range 15 {
					g, err := testkit.Await(t.Context(), b, testkit.NewRequest("key"), testkit.Looks{})
					if err != nil {
						t.Errorf("Acquire: %v", err)
						return
					}
					r.Enter(t, "key", g.Token)
					r.Leave("key", g.Token)
					if err := b.Release(t.Context(), g); err != nil {
						t.Errorf("Release: %v", err)
					}
				}
			})
		}
		wg.Wait()
		testkit.Eventually(t, "the key's node is deleted", func() bool {
			exists, _, err := admin.Exists(parentOf("key"))
			return err == nil && !exists
		})
	}
}
