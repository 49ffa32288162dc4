package redistest

import (
	"testing"
	"time"
)

// await waits until cond is true, and fails the test if it is not within a minute.
func await(tb testing.TB, what string, cond func() bool) {
	tb.Helper()
	deadline := time.Now().Add(time.Minute)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		if time.Now().After(deadline) {
			tb.Fatalf("it never came true that %s", what)
		}
		<-tick.C
	}
}
