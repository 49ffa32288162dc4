package sqllock_test

import (
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/test/testkit"
)

// A Backend that is closed refuses calls, also of a waiter.
func TestClose(t *testing.T) {
	each(t, func(t *testing.T, of *store) {
		b := of.open(t)
		testkit.MustTry(t, b, request("key", time.Minute))
		w := testkit.StartWaiter(t, b, request("key", time.Minute))
		testkit.Eventually(t, "a place", func() bool { return waiting(t, b, "key") == 1 })
		if err := b.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		<-w.Done
		fails(t, "Enqueue", w.Err, "closed")
		tellsWhy(t, b, "closed")
	})
}
