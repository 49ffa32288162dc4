package redislock_test

import (
	"testing"

	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// One of a Cluster's masters is killed under load, and its successor does not have all
// locks. The locks of the other masters are kept.
//
// Row 18 (redislock): waiters reach the new master, holders are told, no token occurs
// twice. Fails if the other masters are not asked when a master is silent, or if tokens
// are counted with INCR.
func TestMasterKilled(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	c := redistest.StartClusterWithReplicas(t, 3, 3)
	dead, heir := c.Masters[1], c.Replicas[1]
	on := keysOn(t, c, 6)
	keep := append(append(on[dead][:3:3], on[c.Masters[0]][:2]...), on[c.Masters[2]][:2]...)
	f := startFailover(t, redistest.ClusterClient(t, c.Servers()), dead, heir, keep, on[dead][3:])
	l := clusterLoad(t, c, loadKeys(24))
	l.start(6, 2)
	l.goOn(200)
	f.cut()
	l.reg.SetLenient(true)
	dead.Kill()
	heir.Cont()
	testkit.Eventually(t, "the replica takes over", func() bool { return heir.IsMaster(t) })
	f.check()
	settle(t, l)
	l.goOn(100)
	l.stop()
	t.Logf("%d served, told %v", l.reg.Uses(), l.errors)
	nothingLeft(t, c.Masters[0], heir, c.Masters[2])
}
