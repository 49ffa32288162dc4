package interop_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// redissonPairs share Redisson's record. RSpinLock publishes nothing, and the waiters of
// RFairLock listen on channels of their own.
var redissonPairs = []pair{
	{theirs: "`RLock`", java: "redisson.lock", ours: "redissonlock.lock", goWakes: message, javaWakes: message},
	{theirs: "`RLock`, hash tag in the name", java: "redisson.lock", ours: "redissonlock.lock", javaKey: tagged, goKey: tagged, goWakes: message, javaWakes: message},
	{theirs: "`RFencedLock`", java: "redisson.fenced", ours: "redissonlock.lock", goWakes: message, javaWakes: message},
	{theirs: "`RSpinLock`", java: "redisson.spin", ours: "redissonlock.lock", goWakes: polling, javaWakes: polling},
	{theirs: "`RFairLock`", java: "redisson.fair", ours: "redissonlock.lock", goWakes: polling, javaWakes: expiry},
	{theirs: "`RReadWriteLock`, write", java: "redisson.write", ours: "redissonlock.lock", goWakes: message, javaWakes: message},
	{theirs: "`RReadWriteLock`, read", java: "redisson.read", ours: "redissonlock.lock", goWakes: message, javaWakes: message},
	{theirs: "`MultiLock`, of which ours is one", java: "redisson.multi", ours: "redissonlock.lock", javaKey: twoOf, goWakes: message, javaWakes: polling},
	{theirs: "lock4j, Redisson executor", java: "lock4j.redisson", ours: "redissonlock.lock", goWakes: message, javaWakes: message},
	{theirs: "Jedis, `SET NX PX`", java: "jedis.lock", ours: "redissonlock.lock", goSees: foreign, goWakes: polling, javaWakes: polling},
}

// tagged returns a key with a hash tag.
func tagged(name string) string { return "{" + name + "}:1" }

// twoOf returns the names of a MultiLock.
func twoOf(name string) string { return name + "," + name + "-too" }

// TestRedissonlock: redissonlock beside Redisson's locks.
func TestRedissonlock(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	server := redistest.Start(t)
	s := servers{redis: server.Addr(), lease: 12 * time.Second}
	j, g := startJava(t, s), startGo(t, s)
	section(t, "redissonlock", meetAll(t, redissonPairs, j, g))

	// number makes a call with a number as its result.
	number := func(t *testing.T, p *peer, words ...any) int64 {
		t.Helper()
		text := p.do(t, t.Name(), words...)
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v is %q", p.name, words, text)
		}
		return n
	}
	t.Run("alone", func(t *testing.T) {
		t.Run("re-entry", func(t *testing.T) {
			t.Parallel()
			key, thread := "re-entry", t.Name()
			for range 2 {
				j.must(t, "true", thread, "redisson.lock", "try", key)
			}
			j.must(t, "2", thread, "redisson.lock", "holds", key)
			j.must(t, "done", thread, "redisson.lock", "unlock", key)
			g.must(t, "false", thread, "redissonlock.lock", "try", key)
			j.must(t, "done", thread, "redisson.lock", "unlock", key)
			g.must(t, "true", thread, "redissonlock.lock", "try", key)
			j.must(t, "true", thread, "redisson.lock", "locked", key)
			j.must(t, "false", thread, "redisson.lock", "mine", key)
			if ttl := number(t, j, "redisson.lock", "ttl", key); ttl <= 0 || ttl > s.lease.Milliseconds() {
				t.Errorf("remainTimeToLive() of ours is %d ms, and the lease %v", ttl, s.lease)
			}
			g.must(t, "done", thread, "redissonlock.lock", "unlock", key)
		})
		t.Run("tokens", func(t *testing.T) {
			t.Parallel()
			key, thread, last := "tokens", t.Name(), int64(0)
			for range 5 {
				token := number(t, j, "redisson.fenced", "token", key)
				j.must(t, "done", thread, "redisson.fenced", "unlock", key)
				g.must(t, "true", thread, "redissonlock.lock", "try", key)
				next := number(t, g, "redissonlock.lock", "token", key)
				g.must(t, "done", thread, "redissonlock.lock", "unlock", key)
				if token <= last || next <= token {
					t.Errorf("behind the token %d, Java's is %d and then ours %d", last, token, next)
				}
				last = next
			}
		})
		t.Run("forceUnlock", func(t *testing.T) {
			t.Parallel()
			key, thread := "forceUnlock", t.Name()
			g.must(t, "true", thread, "redissonlock.lock", "try", key)
			j.must(t, "true", thread, "redisson.lock", "force", key)
			g.must(t, "!lost", thread, "redissonlock.lock", "lost", key, long)
			j.must(t, "true", thread, "redisson.lock", "try", key)
			g.must(t, "!lost", thread, "redissonlock.lock", "unlock", key)
			j.must(t, "true", thread, "redisson.lock", "mine", key)
			j.must(t, "done", thread, "redisson.lock", "unlock", key)
		})
		t.Run("ForceRelease", func(t *testing.T) {
			t.Parallel()
			key, thread := "ForceRelease", t.Name()
			j.must(t, "true", thread, "redisson.lock", "try", key)
			g.must(t, "held=1 waiting=0", thread, "redissonlock.lock", "inspect", key)
			g.must(t, "true", thread, "redissonlock.lock", "force", key)
			g.must(t, "true", thread, "redissonlock.lock", "try", key)
			j.must(t, "!java.lang.IllegalMonitorStateException", thread, "redisson.lock", "unlock", key)
			g.must(t, "done", thread, "redissonlock.lock", "unlock", key)
		})
	})
	t.Run("stopped", func(t *testing.T) {
		key, thread := "stopped", t.Name()
		lease := int64(2000)
		j.must(t, "true", thread, "redisson.fenced", "try", key, lease)
		j.Stop()
		g.must(t, "true", thread, "redissonlock.lock", "wait", key, 2*long, lease)
		j.Cont()
		j.must(t, "!java.lang.IllegalMonitorStateException", thread, "redisson.fenced", "unlock", key)
		token := number(t, g, "redissonlock.lock", "token", key)
		g.Stop()
		next := number(t, j, "redisson.fenced", "token", key)
		g.Cont()
		g.must(t, "!lost", thread, "redissonlock.lock", "unlock", key)
		j.must(t, "true", thread, "redisson.fenced", "mine", key)
		j.must(t, "done", thread, "redisson.fenced", "unlock", key)
		if next <= token {
			t.Errorf("ours was stopped with the token %d, and Java's is %d", token, next)
		}
	})
}
