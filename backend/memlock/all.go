package memlock

import (
	"context"
	"time"

	"github.com/distlock-go/distlock/driver"
)

var _ driver.AllAcquirer = (*Backend)(nil)

// TryAcquireAll implements [driver.AllAcquirer].
func (b *Backend) TryAcquireAll(ctx context.Context, rs []driver.Request) ([]driver.Grant, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var needed [shardCount]bool
	for i := range rs {
		needed[b.shardIndex(rs[i].Key)] = true
	}
	for i := range b.shards { // always in this order
		if needed[i] {
			b.shards[i].mu.Lock()
		}
	}
	defer func() {
		for i := range b.shards {
			if needed[i] {
				b.shards[i].mu.Unlock()
			}
		}
	}()
	now := time.Now()
	for i := range rs {
		if _, held := b.shard(rs[i].Key).look(&rs[i], now); held != nil {
			return nil, held
		}
	}
	grants := make([]driver.Grant, len(rs))
	for i := range rs {
		grants[i], _ = b.shard(rs[i].Key).take(&rs[i], now)
	}
	return grants, nil
}
