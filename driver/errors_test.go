package driver_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/distlock-go/distlock/driver"
)

func TestHeldErrorText(t *testing.T) {
	for want, err := range map[string]driver.HeldError{
		"lock not acquired: held by another":           {},
		"lock not acquired: held by another, 57s left": {RetryAfter: 56500 * time.Millisecond},
		"lock not acquired: held by another for 3.5s":  {Held: 3500 * time.Millisecond},
		"lock not acquired: held by web-3/1432":        {Holder: "web-3/1432"},
		"lock not acquired: held by web-3/1 for 2s, 1ms left": {
			Holder: "web-3/1", Held: 2 * time.Second, RetryAfter: time.Millisecond,
		},
		"lock not acquired: held by this process for 4s": {Holder: "here/1", Held: 4 * time.Second, Local: true},
		"lock not acquired: held by this process":        {Local: true, Held: -time.Second, RetryAfter: -1},
	} {
		if got := err.Error(); got != want {
			t.Errorf("%+v is %q, want %q", err, got, want)
		}
	}
}

func TestErrorsMatch(t *testing.T) {
	held := fmt.Errorf("redis:6379: %w", &driver.HeldError{Holder: "web-3"})
	for _, c := range []struct {
		err, target error
		want        bool
	}{
		{held, driver.ErrNotAcquired, true},
		{held, driver.ErrForeign, false},
		{held, driver.ErrLost, false},
		{driver.ErrForeign, driver.ErrNotAcquired, true},
		{driver.ErrNotAcquired, driver.ErrForeign, false},
		{driver.ErrLost, driver.ErrNotAcquired, false},
		{driver.NotSent(held), driver.ErrNotSent, true},
		{driver.NotSent(driver.ErrLost), driver.ErrNotAcquired, false},
	} {
		if got := errors.Is(c.err, c.target); got != c.want {
			t.Errorf("errors.Is(%q, %q) = %v", c.err, c.target, got)
		}
	}
}
