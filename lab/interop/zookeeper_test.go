package interop_test

import (
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/internal/test/zktest"
)

// znode returns the path of a key's node.
func znode(key string) string { return zklock.DefaultRoot + "/" + zklock.EscapeKey(key) }

const foreign = "!foreign distlock: acquire"

var curatorPairs = []pair{
	{theirs: "`InterProcessMutex`", javaKey: znode, java: "curator.mutex", ours: "zklock.lock", goWakes: message, javaWakes: message},
	{theirs: "`LeaderSelector`", javaKey: znode, java: "curator.selector", ours: "zklock.lock", goWakes: message, javaWakes: message},
	{theirs: "`InterProcessReadWriteLock`, write", javaKey: znode, java: "curator.write", ours: "zklock.write", goWakes: message, javaWakes: message},
	{theirs: "`InterProcessReadWriteLock`, read", javaKey: znode, java: "curator.read", ours: "zklock.write", goWakes: message, javaWakes: message},
	{theirs: "`InterProcessReadWriteLock`, write", javaKey: znode, java: "curator.write", ours: "zklock.read", goWakes: message, javaWakes: message},
	{theirs: "`InterProcessReadWriteLock`, read", javaKey: znode, java: "curator.read", ours: "zklock.read", goSees: "true", javaSees: "true"},
	{theirs: "`InterProcessReadWriteLock`, write", javaKey: znode, java: "curator.write", ours: "zklock.lock", goSees: foreign, goWakes: message, javaSees: evicts},
	{theirs: "`InterProcessMutex`", javaKey: znode, java: "curator.mutex", ours: "zklock.write", goSees: foreign, goWakes: message, javaSees: evicts},
	{theirs: "`InterProcessMutex`", javaKey: znode, java: "curator.mutex", ours: "zklock.shared", goSees: foreign, goWakes: message, javaSees: evicts},
	{theirs: "`InterProcessSemaphoreV2`", javaKey: znode, java: "curator.semaphore", ours: "zklock.lock", goSees: foreign, goWakes: polling, javaSees: evicts},
	{theirs: "`LeaderLatch`", javaKey: znode, java: "curator.latch", ours: "zklock.lock", goSees: foreign, goWakes: message, javaSees: evicts},
}

// startZooKeeper starts a server that deletes unused nodes soon.
func startZooKeeper(t *testing.T) (addr string) {
	t.Helper()
	return zktest.Start(t, zktest.Config{
		Properties: []string{"znode.container.checkIntervalMs=500", "znode.container.maxPerMinute=1000000"},
	}).Addr()
}

// TestZooKeeper: zklock beside Curator's recipes.
func TestZooKeeper(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	s := servers{zooKeeper: startZooKeeper(t), lease: 12 * time.Second}
	j, g := startJava(t, s), startGo(t, s)
	section(t, "zklock", meetAll(t, curatorPairs, j, g))

	t.Run("Revoker", func(t *testing.T) {
		key := "revoked"
		j.must(t, "true", "revoker", "curator.revocable", "try", znode(key))
		g.must(t, "true", "revoker", "zklock.lock", "revoke", key)
		j.must(t, "true", "revoker", "curator.revocable", "revoked", znode(key), long)
		j.must(t, "done", "revoker", "curator.revocable", "unlock", znode(key))
		g.must(t, "true", "revoker", "zklock.lock", "try", key)
		j.must(t, "done", "revoker", "curator.mutex", "revoke", znode(key))
		g.must(t, "true", "revoker", "zklock.lock", "revoked", key, long)
		g.must(t, "done", "revoker", "zklock.lock", "unlock", key)
	})
	t.Run("re-entry of a thread", func(t *testing.T) {
		key := "re-entry"
		for range 2 {
			j.must(t, "true", "re-entry", "curator.mutex", "try", znode(key))
		}
		j.must(t, "done", "re-entry", "curator.mutex", "unlock", znode(key))
		g.must(t, "false", "re-entry", "zklock.lock", "try", key)
		j.must(t, "done", "re-entry", "curator.mutex", "unlock", znode(key))
		g.must(t, "true", "re-entry", "zklock.lock", "try", key)
		g.must(t, "done", "re-entry", "zklock.lock", "unlock", key)
	})
	t.Run("ForceRelease", func(t *testing.T) {
		key := "forced"
		j.must(t, "true", "force", "curator.mutex", "try", znode(key))
		g.must(t, "held=1 waiting=0", "force", "zklock.lock", "inspect", key)
		g.must(t, "true", "force", "zklock.lock", "force", key)
		g.must(t, "true", "force", "zklock.lock", "try", key)
		g.must(t, "done", "force", "zklock.lock", "unlock", key)
	})
}
