package main

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/fence"
)

var (
	errUnknownSKU = errors.New("unknown sku")
	errSoldOut    = errors.New("sold out")
)

// item is something to sell.
type item struct {
	SKU   string `json:"sku"`
	Stock int    `json:"stock"`
	Sold  int    `json:"sold"`
}

// stock keeps the items in Redis. It is the resource that the lock protects, and checks
// the fencing token of each caller: an item that has seen a token refuses all smaller
// ones. So a holder that was stopped for longer than its lease changes nothing. Token 0
// is a caller without the lock, and passes.
type stock struct{ client *redis.Client }

// fenced is the beginning of each script. KEYS are the hash of an item and the counter
// of orders, and ARGV[1] is the token of the caller.
const fenced = "if ARGV[1] ~= '0' then" + fence.Lua + "end"

var (
	getScript = redis.NewScript(fenced + `
if redis.call('HEXISTS', KEYS[1], 'stock') == 0 then return redis.error_reply('UNKNOWN') end
return redis.call('HMGET', KEYS[1], 'stock', 'sold')`)

	// ARGV[2] is how many are left, and ARGV[3] how many were sold.
	putScript = redis.NewScript(fenced + `
redis.call('HSET', KEYS[1], 'stock', ARGV[2])
if ARGV[3] == '0' then
	redis.call('HSET', KEYS[1], 'sold', '0')
	return {0}
end
redis.call('HINCRBY', KEYS[1], 'sold', ARGV[3])
return {redis.call('INCR', KEYS[2])}`)
)

// get returns an item, and shows it the token.
func (s stock) get(ctx context.Context, sku string, token uint64) (item, error) {
	numbers, err := s.run(ctx, getScript, sku, token)
	if err != nil {
		return item{}, err
	}
	return item{SKU: sku, Stock: int(numbers[0]), Sold: int(numbers[1])}, nil
}

// put leaves n pieces of an item, notes that a quantity was sold, and returns the
// number of the order. A quantity of 0 starts a sale.
func (s stock) put(ctx context.Context, sku string, n, quantity int, token uint64) (orderID int64, err error) {
	numbers, err := s.run(ctx, putScript, sku, token, n, quantity)
	if err != nil {
		return 0, err
	}
	return numbers[0], nil
}

func (s stock) run(ctx context.Context, script *redis.Script, sku string, args ...any) ([]int64, error) {
	numbers, err := script.Run(ctx, s.client, []string{"stock:" + sku, "orders"}, args...).Int64Slice()
	switch {
	case redis.HasErrorPrefix(err, "STALE"):
		err = fence.ErrStale
	case redis.HasErrorPrefix(err, "UNKNOWN"):
		err = errUnknownSKU
	}
	return numbers, err
}
