package zklock_test

import (
	"testing"

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
	b, last := newBackend(t, []string{server.Addr()}), uint64(0)
	for range 4 {
		new(testkit.Crowd).Disturb(t, func() testkit.Queue { return newBackend(t, []string{server.Addr()}) }, func() {})
		g := testkit.MustTry(t, b, testkit.NewRequest("crowd"))
		if g.Token <= last {
			t.Errorf("token %d after %d", g.Token, last)
		}
		last = g.Token
		testkit.MustRelease(t, b, g)
		testkit.Eventually(t, "the key's node is deleted", func() bool {
			exists, _, err := admin.Exists(parentOf("crowd"))
			return err == nil && !exists
		})
	}
}
