package main

import (
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/javakey"
)

// underAspect returns the methods under the locks of the aspect.
func underAspect(locker *distlock.Locker, b books) methods {
	// @DistributedLock(prefix = "shop-", value = "stock", paramLock = true,
	//         keyTimeout = 3000, retryCount = 0, retryInterval = 20)
	stock := distlock.Opts{
		Prefix: "shop-", Value: "stock",
		ParamLock:  true,
		Params:     distlock.By(func(i Item) any { return []any{i.SKU, i.Warehouse} }),
		KeyFormat:  javakey.Aspect, // the key that the aspect makes
		KeyTimeout: 3 * time.Second,
	}
	// @DistributedLock(prefix = "shop-", value = "ledger", keyTimeout = 3000, retryCount = 0, retryInterval = 20)
	ledger := distlock.Opts{
		Prefix: "shop-", Value: "ledger",
		KeyFormat:  javakey.Aspect,
		KeyTimeout: 3 * time.Second,
	}
	return methods{
		sell:    distlock.Wrap(locker, b.sell, stock),
		restock: distlock.Wrap(locker, b.restock, stock),
		book:    distlock.Wrap(locker, b.book, ledger),
	}
}
