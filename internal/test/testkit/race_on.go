//go:build race

package testkit

// Race reports whether the race detector is on. It makes programs slow, and a sync.Pool
// drop values at random.
const Race = true
