package redislock_test

import "testing"

// A repeated release says what is at the key.
func TestScriptUnshareIsIdempotent(t *testing.T) {
	eachScripts(t, func(_ *testing.T, s scripts) {
		s.join("a1", reads)
		s.join("b1", reads)
		s.leave("c1", reads, 0)
		s.leave("a1", reads, 1)
		s.leave("a1", reads, 0)
		s.leave("b1", "p1", 0)
		s.holders("r b1")
		s.leave("b1", reads, 1)
		s.leave("a1", reads, 2)
		s.leave("c1", reads, 2)
		s.take("d1")
		s.leave("a1", reads, 0)
		s.leave("c1", reads, 0)
		s.holder("d1")
	})
}
