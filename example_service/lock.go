package main

import (
	"time"

	"github.com/distlock-go/distlock"
)

// itemLock declares the lock of an item, for the routes and the shop; what does
// not depend on flags, shop.proto declares once more for gRPC, and a test
// compares the two. All three ways in get the same key for a sku because the
// parameter is the same string, whether it was a piece of a path, a field of a
// message or a field of a struct.
func itemLock(cfg config) distlock.Opts {
	return distlock.Opts{
		Prefix:    "shop:",
		Value:     "item",
		ParamLock: true,
		// A crashed process blocks an item for this long. The watchdog renews the
		// lease of an order that takes longer.
		KeyTimeout: 3 * time.Second,
		// The wait is limited: after it the answer is "busy", or "unavailable" if the
		// store of the locks did not answer. The order itself may take longer.
		MaxWait: cfg.wait,
		// An order that takes so much longer than it should hangs. It loses the
		// lock, so that the others do not hang with it.
		MaxHold: cfg.think + 15*time.Second,
	}
}
