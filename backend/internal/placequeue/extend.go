package placequeue

import (
	"time"

	"github.com/distlock-go/distlock/driver"
)

// Extend returns the grant of a place whose lease is that of present, after the store has
// confirmed the terms of g. The answer may be late, so the lease is shortened only if g has
// [driver.Grant].Retain. The result has no Retain: a later request is not of that renewal.
func Extend(present, g driver.Grant) driver.Grant {
	if !g.Retain && End(g).Before(End(present)) {
		g.Sent, g.TTL = present.Sent, present.TTL
	}
	g.Retain = false
	return g
}

// End returns when the lease of g ends.
func End(g driver.Grant) time.Time { return g.Sent.Add(g.TTL) }
