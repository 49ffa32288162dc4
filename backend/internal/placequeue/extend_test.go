package placequeue_test

import (
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/internal/placequeue"
	"github.com/distlock-go/distlock/driver"
)

// A lease becomes longer, and shorter only by a renewal that retains the key. What comes
// after that renewal does not shorten the lease.
func TestExtend(t *testing.T) {
	start := time.Now()
	grant := func(sent, ttl time.Duration, retain bool) driver.Grant {
		return driver.Grant{Sent: start.Add(sent), TTL: ttl, Retain: retain}
	}
	present := grant(0, time.Minute, false)
	for name, c := range map[string]struct {
		g    driver.Grant
		ends time.Duration
	}{
		"later":    {grant(time.Second, time.Minute, false), 61 * time.Second},
		"late":     {grant(0, time.Second, false), time.Minute},
		"retained": {grant(time.Second, time.Second, true), 2 * time.Second},
	} {
		g := placequeue.Extend(present, c.g)
		if d := placequeue.End(g).Sub(start); d != c.ends || g.Retain {
			t.Errorf("%s: ends after %v, retain %v; want %v", name, d, g.Retain, c.ends)
		}
	}
}
