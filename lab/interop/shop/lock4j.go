package main

import (
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/javakey"
)

// underLock4j returns the methods under the locks of lock4j.
func underLock4j(locker *distlock.Locker, b books) methods {
	// @Lock4j(name = "stock", keys = {"#sku", "#warehouse"}, acquireTimeout = 60000)
	stock := distlock.Opts{
		Value:     "stock",
		ParamLock: true,
		Params:    distlock.By(func(i Item) any { return []any{i.SKU, i.Warehouse} }),
		KeyFormat: javakey.Lock4j, // lock4j:stock#tea.1
		MaxWait:   time.Minute,
	}
	// @Lock4j(name = "ledger", acquireTimeout = 60000)
	ledger := distlock.Opts{
		Value:     "ledger",
		KeyFormat: javakey.Lock4j, // lock4j:ledger#
		MaxWait:   time.Minute,
	}
	return methods{
		sell:    distlock.Wrap(locker, b.sell, stock),
		restock: distlock.Wrap(locker, b.restock, stock),
		book:    distlock.Wrap(locker, b.book, ledger),
	}
}
