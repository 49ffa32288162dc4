package interop_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// TestLease: when a process with locks of all kinds is killed, those of the other side have
// them after the lease, or at the end of the session. The watchdogs of processes that live
// keep a key for three leases.
func TestLease(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	const lease = 4 * time.Second
	s := servers{redis: redistest.Start(t).Addr(), zooKeeper: startZooKeeper(t), lease: lease}
	var pairs []pair
	for _, p := range slices.Concat(stringPairs, hashPairs, redissonPairs, curatorPairs) {
		if p.goWakes != nothing || p.javaWakes != nothing {
			pairs = append(pairs, p)
		}
	}
	j, victimJ, g, victimG := startJava(t, s), startJava(t, s), startGo(t, s), startGo(t, s)
	// Java loads much at the first use.
	var first []*call
	for i, p := range pairs {
		for n, process := range []*peer{j, victimJ} {
			s := p.javaSide(process, fmt.Sprintf("first-%d-%d", n, i))
			first = append(first, process.start("first", s.kind, "try", s.key), process.start("first", s.kind, "unlock", s.key))
		}
	}
	for i, c := range first {
		c.must(t, []string{"true", "done"}[i%2])
	}
	// die lets the victim hold all locks and kills it while others wait for them.
	die := func(victim, other *peer, sides func(p pair, name string) (held, waits side, how wake)) {
		tries, waits := make([]*call, len(pairs)), make([]*call, len(pairs))
		for i, p := range pairs {
			name := fmt.Sprintf("%s-dies-%d", victim.name, i)
			if held, _, how := sides(p, name); how != nothing {
				tries[i] = victim.start(name, held.kind, "try", held.key, lease.Milliseconds())
			}
		}
		for i, p := range pairs {
			if tries[i] != nil {
				tries[i].must(t, "true")
				name := fmt.Sprintf("%s-dies-%d", victim.name, i)
				_, waiting, _ := sides(p, name)
				waits[i] = other.start(name, waiting.kind, "wait", waiting.key, 2*long, long)
			}
		}
		killed := time.Now()
		victim.Kill()
		for i, c := range waits {
			if c != nil {
				c.must(t, "true")
				if took := c.at.Sub(killed); took > soon {
					t.Errorf("%s: it has the lock %v after the death of the holder", pairs[i].theirs, took)
				}
			}
		}
	}
	t.Run("killed", func(t *testing.T) {
		t.Run("Java", func(t *testing.T) {
			t.Parallel()
			die(victimJ, g, func(p pair, name string) (held, waits side, how wake) {
				return p.javaSide(nil, name), p.goSide(nil, name), p.goWakes
			})
		})
		t.Run("Go", func(t *testing.T) {
			t.Parallel()
			die(victimG, j, func(p pair, name string) (held, waits side, how wake) {
				how = p.javaWakes
				if p.java == "integration.pubsub" { // it waits for a message, which nobody sends
					how = nothing
				}
				return p.goSide(nil, name), p.javaSide(nil, name), how
			})
		})
		t.Run("nobody", func(t *testing.T) {
			t.Parallel()
			j.must(t, "true", "holder", "redisson.lock", "try", "theirs")
			g.must(t, "true", "holder", "redissonlock.lock", "try", "ours")
			theirs := g.start("waiter", "redissonlock.lock", "wait", "theirs", 3*lease.Milliseconds())
			ours := j.start("waiter", "redisson.lock", "wait", "ours", 3*lease.Milliseconds())
			theirs.must(t, "false")
			ours.must(t, "false")
			j.must(t, "done", "holder", "redisson.lock", "unlock", "theirs")
			g.must(t, "done", "holder", "redissonlock.lock", "unlock", "ours")
		})
	})
}
