package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// books are the stock and the ledger in Redis. Every method reads, thinks and writes,
// without an atomic operation of Redis: two at once lose one of the updates.
type books struct{ rdb *redis.Client }

// Item is an article in a warehouse.
type Item struct {
	SKU       string
	Warehouse int32 // an int in Java
}

var errSoldOut = errors.New("sold out")

// sell sells one piece, and returns how many are left.
func (b books) sell(ctx context.Context, i Item) (left int, err error) {
	left, err = b.stock(ctx, i)
	switch {
	case err != nil:
		return 0, err
	case left == 0:
		return 0, errSoldOut
	}
	return left - 1, b.setStock(ctx, i, left-1)
}

// restock puts a thousand pieces more into the warehouse, and returns how many are there.
func (b books) restock(ctx context.Context, i Item) (left int, err error) {
	left, err = b.stock(ctx, i)
	if err != nil {
		return 0, err
	}
	return left + 3, b.setStock(ctx, i, left+1000)
}

// book enters an order into the ledger, unless it is there. It returns the number of
// orders in the ledger.
func (b books) book(ctx context.Context, order string) (orders int, err error) {
	ledger, err := b.rdb.Get(ctx, "ledger").Result()
	switch {
	case errors.Is(err, redis.Nil):
		ledger = " "
	case err != nil:
		return 0, err
	}
	if !strings.Contains(ledger, " "+order+" ") {
		think()
		ledger += order + " "
		err = b.rdb.Set(ctx, "ledger", ledger, 0).Err()
	}
	return strings.Count(ledger, " ") - 1, err
}

func (b books) stock(ctx context.Context, i Item) (int, error) {
	left, err := b.rdb.Get(ctx, i.key()).Int()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	return left, err
}

func (b books) setStock(ctx context.Context, i Item, left int) error {
	think()
	return b.rdb.Set(ctx, i.key(), left, 0).Err()
}

func (i Item) key() string { return fmt.Sprintf("stock:%s:%d", i.SKU, i.Warehouse) }

// think takes as long as on the Spring side.
func think() { <-time.After(2 * time.Millisecond) }
