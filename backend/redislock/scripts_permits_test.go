package redislock_test

import (
	"testing"
	"time"
)

func TestScriptPermits(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		heard := s.hear()
		s.join("a1", "p2")
		_, last := s.join("b1", "p2")
		s.holders("p a1", "p b1")
		s.join("a1", "p2") // a repeat does not take a second one
		s.ends("p b1", 7*time.Second)
		near(t, "left for a permit", s.kept("c1", "p2", false), 7*time.Second)
		s.kept("c1", "p2", true)
		s.kept("d1", "p2", true)
		s.queue("c:c1 p2", "d:d1 p2")

		s.leave("b1", "p2", 1)
		s.holders("p a1", "p c1")
		s.queue("d:d1 p2")
		expect(t, "messages", heard(), []string{"in:c c1"})
		if first, _ := s.join("c1", "p2"); first <= last {
			t.Errorf("token %d after %d", first, last)
		}
		s.kept("e1", "p2", true)
		s.holders("p a1", "p c1")

		// As many as the newcomer's own request says, and not before earlier waiters.
		s.kept("f1", "p4", true)
		s.leave("d1", "p2", 0)
		s.leave("e1", "p2", 0)
		s.holders("p a1", "p c1", "p f1")
		s.join("g1", "p4")
		s.kept("h1", "p4", true)
	})
}

func TestScriptWriterPassesOnToPermits(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		heard := s.hear()
		s.take("a1")
		for _, owner := range []string{"b1", "c1", "d1"} {
			s.kept(owner, "p2", true)
		}
		s.release("a1", 1)
		s.holders("p b1", "p c1")
		s.queue("d:d1 p2")
		expect(t, "messages", heard(), []string{"in:b b1", "in:c c1"})
		s.busy("e1", true)
		s.leave("b1", "p2", 1)
		s.leave("c1", "p2", 1)
		s.leave("d1", "p2", 1)
		s.holder("e1")
	})
}

func TestScriptKindsKeepEachOtherOut(t *testing.T) {
	eachScripts(t, func(t *testing.T, s scripts) {
		s.join("a1", reads)
		near(t, "left for a permit", s.kept("b1", "p5", true), testTTL)
		s.leave("a1", reads, 1)
		s.holders("p b1")
		s.kept("c1", reads, true)
		s.leave("b1", "p5", 1)
		s.holders("r c1")
		// An owner can only have one kind of lock.
		s.kept("c1", "p5", false)
		s.busy("c1", false)
		s.leave("c1", "p5", 0)
		s.holders("r c1")
	})
}
