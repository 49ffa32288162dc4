package interop_test

import (
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/testmode"
	"github.com/distlock-go/distlock/internal/zktest"
)

var curatorPairs = []pair{
	{theirs: "`InterProcessMutex`", record: "`-lock-`", javaKey: prefix("/distlock/"), java: "curator.mutex", ours: "zklock.lock", goWakes: message, javaWakes: message},
	{theirs: "`InterProcessMutex`", record: "`-lock-`", javaKey: prefix("/distlock/"), java: "curator.mutex", ours: "zklock.write", goWakes: message, javaSees: "true"},
	{theirs: "`InterProcessMutex`", record: "`-lock-`", javaKey: prefix("/distlock/"), java: "curator.mutex", ours: "zklock.shared", goWakes: message, javaSees: "true"},
	{theirs: "`InterProcessMutex`", record: "`-lock-`", javaKey: prefix("/distlock/"), java: "curator.mutex", ours: "zklock.permits", goWakes: message, javaSees: "true"},
	{theirs: "`InterProcessReadWriteLock`, write", record: "`-__WRIT__`", javaKey: prefix("/distlock/"), java: "curator.write", ours: "zklock.write", goWakes: message, javaWakes: message},
	{theirs: "`InterProcessReadWriteLock`, read", record: "`-__READ__`", javaKey: prefix("/distlock/"), java: "curator.read", ours: "zklock.write", goWakes: message, javaWakes: message},
	{theirs: "`InterProcessReadWriteLock`, write", record: "`-__WRIT__`", javaKey: prefix("/distlock/"), java: "curator.write", ours: "zklock.read", goWakes: message, javaWakes: message},
	{theirs: "`InterProcessReadWriteLock`, read", record: "`-__READ__`", javaKey: prefix("/distlock/"), java: "curator.read", ours: "zklock.read", goSees: "true", javaSees: "true"},
	{theirs: "`InterProcessReadWriteLock`, write", record: "`-__WRIT__`", javaKey: prefix("/distlock/"), java: "curator.write", ours: "zklock.lock", goWakes: message, javaSees: "true"},
	{theirs: "`LeaderSelector`", record: "`-lock-`", javaKey: prefix("/distlock/"), java: "curator.selector", ours: "zklock.lock", goWakes: message, javaWakes: message},
	{theirs: "`InterProcessSemaphoreV2`", record: "`leases`, `locks`", javaKey: prefix("/distlock/"), java: "curator.semaphore", ours: "zklock.lock", goSees: "true", javaSees: "true"},
	{theirs: "`InterProcessSemaphoreMutex`", record: "`leases`, `locks`", javaKey: prefix("/distlock/"), java: "curator.semaphoremutex", ours: "zklock.lock", goSees: "true", javaSees: "true"},
	{theirs: "`LeaderLatch`", record: "`-latch-`", javaKey: prefix("/distlock/"), java: "curator.latch", ours: "zklock.lock", goSees: "true", javaSees: "true"},
}

// TestZooKeeper: zklock beside Curator's recipes.
func TestZooKeeper(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	s := zktest.Start(t, zktest.Config{Tick: 200 * time.Millisecond})
	javaSide, goSide := startJava(t, "-", s.Addr()), startGo(t, "-", s.Addr())
	section(t, "zklock", meetAll(t, curatorPairs, javaSide, goSide))
}
