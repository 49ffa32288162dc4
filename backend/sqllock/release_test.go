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
		b := d.opened(t, dsn)
		testkit.MustTry(t, b, request("key", time.Minute))
		done := make(chan error, 1)
		go func() {
			_, err := b.Acquire(t.Context(), request("key", time.Minute))
			done <- err
		}()
		testkit.Eventually(t, "a place", func() bool {
			infos, err := b.Inspect(t.Context(), "key", 1)
			return err == nil && infos[0].Waiting == 1
		})
		if err := b.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		select {
		case err := <-done:
			if err == nil || errors.Is(err, driver.ErrNotAcquired) {
				t.Errorf("Acquire on a closed Backend: %v", err)
			}
		case <-time.After(patience):
			t.Fatal("Acquire goes on after Close")
		}
		tellsWhy(t, b, "closed")
	})
}
