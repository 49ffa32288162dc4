package child

import "time"

// Patience limits the wait for an event on a slow and busy machine.
const Patience = time.Minute

// Await waits until cond is true, and fails the test if it is not after [Patience].
func Await(tb TB, what string, cond func() bool) {
	tb.Helper()
	if !Within(Patience, cond) {
		tb.Fatal("it never came true that", what)
	}
}

// Within waits until cond is true, and returns false if it is not true in time.
func Within(d time.Duration, cond func() bool) bool {
	deadline := time.Now().Add(d)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		if time.Now().After(deadline) {
			return false
		}
		<-tick.C
	}
	return true
}
