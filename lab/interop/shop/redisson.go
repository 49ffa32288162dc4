package main

import (
	"fmt"

	"github.com/distlock-go/distlock"
)

// underRedisson returns the methods under locks of Redisson. The locker's backend is
// redissonlock.
func underRedisson(locker *distlock.Locker, b books) methods {
	// In Java: redisson.getLock("lock:" + sku + ":" + warehouse)
	stock := distlock.Opts{
		Value:     "lock:",
		ParamLock: true,
		Params:    distlock.By(func(i Item) any { return fmt.Sprintf("%s:%d", i.SKU, i.Warehouse) }),
		KeyFormat: func(base string, params any) (string, error) { return base + params.(string), nil },
	}
	// In Java: redisson.getLock("lock:ledger")
	ledger := distlock.Opts{Value: "lock:ledger"}
	return methods{
		sell:    distlock.Wrap(locker, b.sell, stock),
		restock: distlock.Wrap(locker, b.restock, stock),
		book:    distlock.Wrap(locker, b.book, ledger),
	}
}
