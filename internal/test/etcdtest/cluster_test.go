package etcdtest_test

import (
	"slices"
	"testing"

	"github.com/distlock-go/distlock/internal/test/etcdtest"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// TestCluster checks that another server leads when the leader was moved, stopped or
// killed, and that all serve again after a restart.
func TestCluster(t *testing.T) {
	testmode.Long(t)
	c := etcdtest.StartCluster(t)
	first := c.Leader(t)
	second := c.MoveLeader(t)
	if first == second || !slices.Contains(c.Servers, second) {
		t.Fatalf("the leader is %v, and was %v", second, first)
	}
	second.Stop(t)
	third := c.Leader(t)
	if third == second {
		t.Fatal("a stopped server leads")
	}
	second.Cont(t)
	third.Kill()
	if c.Leader(t) == third {
		t.Fatal("a killed server leads")
	}
	third.Restart(t)
	c.Kill()
	c.Restart(t)
	c.Leader(t)
}
