package stall_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/internal/test/stall"
)

// TestVirtual checks that nothing is excused in a bubble, where the clock cannot jump.
func TestVirtual(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := stall.Start(t)
		time.Sleep(time.Minute + time.Millisecond)
		for _, late := range []time.Duration{0, time.Millisecond, 20 * time.Millisecond, time.Hour} {
			if w.Excuses(late) {
				t.Errorf("an excuse for %v", late)
			}
		}
	})
}
