package etcdlock

import (
	"testing"
	"time"
)

// Backend is the type of the Backends that New returns.
type Backend = backend

// WaitForSweeper waits until the Backend has deleted all places that no owner wants.
func WaitForSweeper(tb testing.TB, b *Backend) {
	tb.Helper()
	for start := time.Now(); ; time.Sleep(time.Millisecond) {
		b.table.Lock()
		n := len(b.sweeper.places)
		b.table.Unlock()
		switch {
		case n == 0:
			return
		case time.Since(start) > 15*time.Second:
			tb.Fatalf("%d places are not deleted", n)
		}
	}
}

// Slots returns how many keys have slots in use.
func Slots(b *Backend) int {
	b.table.Lock()
	defer b.table.Unlock()
	return len(b.table.slots)
}

// Budgets returns how long leases are at most in a session of this TTL, and how old its
// last keep-alive may be when they begin.
func Budgets(ttl time.Duration) (lease, age time.Duration) {
	s := &session{ttl: ttl}
	return s.maxLease(), s.maxAge()
}

// UnescapeKey is the inverse of EscapeKey.
func UnescapeKey(name string) string { return unescaper.Replace(name) }
