package main

import (
	"time"

	"github.com/distlock-go/distlock"
)

// itemLock declares the lock of an item for the HTTP routes and the shop. shop.proto
// declares the same lock for gRPC, except the options that depend on flags, and a test
// compares the two. All three have the same key for a sku, because the parameter is the
// same string, whether it comes from a path, a message or a struct.
func itemLock(cfg config) distlock.Opts {
	return distlock.Opts{
		Prefix:    "shop:",
		Value:     "item",
		ParamLock: true,
		// A crashed process blocks an item for this long. The watchdog renews the lease
		// of an order that takes longer.
		KeyTimeout: 3 * time.Second,
		// The wait is limited. After it the answer is "busy", or "unavailable" if the
		// store of the locks did not answer. The order itself may take longer.
		MaxWait: cfg.wait,
		// An order that takes much longer than it should hangs. It loses the lock, so
		// that other orders do not hang with it.
		MaxHold: cfg.think + 15*time.Second,
	}
}
