package caslock_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// A store that answers nothing has a few seconds, however many leases there are. One cell, or
// as many as are renewed at the same time, holds up no other that answers.
func TestRenewalsOfASilentStore(t *testing.T) {
	const n = 5000
	for silent, renewed := range map[int]int{0: n, 1: n - 1, 31: n - 31, n: 0} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer()
			s.latency = time.Millisecond
			b := s.open("")
			var grants []driver.Grant
			for i := range n {
				grants = append(grants, testkit.MustTry(t, b, testkit.NewRequest(fmt.Sprint("key", i))))
			}
			s.fault = func(_, key, _ string) fault {
				var i int
				if _, err := fmt.Sscanf(key, "key%d", &i); err == nil && i < silent {
					return mute
				}
				return none
			}
			start, results := time.Now(), [2]int{}
			for i, err := range driver.RenewAll(t.Context(), b, grants) {
				switch {
				case err == nil:
					results[0]++
				case errors.Is(err, driver.ErrNotSent):
					results[1]++
				case i >= max(silent, 32):
					t.Errorf("%d silent: renewal %d: %v", silent, i, err)
				}
			}
			if d := time.Since(start); results[0] != renewed || d > 5*time.Second {
				t.Errorf("%d silent: %d renewed, %d not sent after %v", silent, results[0], results[1], d)
			}
		})
	}
}
