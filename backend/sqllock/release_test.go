package sqllock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// Close ends the calls that wait, and refuses others. It can be called again.
func TestClose(t *testing.T) {
	each(t, func(t *testing.T, d database, dsn string) {
		b := d.open(t, dsn)
		testkit.MustTry(t, b, request("key", time.Minute))
		w := testkit.StartWaiter(t, b, request("key", time.Minute))
		testkit.Eventually(t, "a place", func() bool { return waiting(t, b, "key") == 1 })
		if err := b.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		select {
		case <-w.Done:
			if w.Err == nil || errors.Is(w.Err, driver.ErrNotAcquired) {
				t.Errorf("Acquire on a closed Backend: %v", w.Err)
			}
		case <-time.After(patience):
			t.Fatal("Acquire goes on after Close")
		}
		tellsWhy(t, b, "closed")
	})
}
