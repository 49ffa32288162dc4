package testkit

import (
	"slices"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// Op names a method of a [Store].
type Op string

// The methods of a [Store].
const (
	Try     Op = "try"     // TryAcquire
	Enqueue Op = "enqueue" // Enqueue, and a grant that comes through the channel of Turn
	Extend  Op = "extend"  // Extend
	Renew   Op = "renew"   // Renew
	Release Op = "release" // Release
	Inspect Op = "inspect" // Inspect
	Force   Op = "force"   // ForceRelease
	Revoke  Op = "revoke"  // Revoke
	Ping    Op = "ping"    // Ping
	Turn    Op = "turn"    // Turn
	Close   Op = "close"   // Close
)

// Call is one call of a method of a [Store].
type Call struct {
	Op    Op
	Key   string // of the request or the first grant; for Inspect the prefix
	Owner string // of the request or the first grant
	At    time.Time

	// Request is the request of an attempt. Before may change it.
	Request driver.Request
	// Grants are the arguments of Renew, Release and Extend, which Before may change, and in
	// After the result of an attempt or an extension, which After may change.
	Grants []driver.Grant
	// Results are the results of a renewal, in After, which may change them.
	Results []error
	// Found is what Inspect has found, in After, which may change it.
	Found []driver.KeyInfo
}

func keyed(op Op, key string) *Call { return &Call{Op: op, Key: key, At: time.Now()} }

func about(op Op, gs ...driver.Grant) *Call {
	c := &Call{Op: op, At: time.Now(), Grants: slices.Clone(gs)}
	if len(gs) > 0 {
		c.Key, c.Owner = gs[0].Key, gs[0].Owner
	}
	return c
}

func (c *Call) limitTokens(n int) {
	for i := range c.Grants {
		g := &c.Grants[i]
		if n == 0 {
			g.Token, g.LastToken = 0, 0
		} else {
			g.LastToken = min(g.LastToken, g.Token+uint64(n)-1)
		}
	}
}
