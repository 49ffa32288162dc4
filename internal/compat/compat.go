// Package compat says what two acquisitions of a key must have in common for one to take
// over or share the other's lease.
package compat

import (
	"time"

	"github.com/distlock-go/distlock/driver"
)

// Class is what decides whether two acquisitions of a key can have one lease, one after
// the other or, as readers, together: their classes must be equal.
type Class struct {
	Sharing driver.Sharing
	TTL     time.Duration

	// Alone is set for a reader with a MaxHold or a MinHold. A lease has one of each,
	// so such a reader shares its lease with no other.
	Alone bool
}

// Shares reports whether several holders share one lease.
func (c Class) Shares() bool {
	return c.Sharing.Mode == driver.Shared && !c.Alone
}
