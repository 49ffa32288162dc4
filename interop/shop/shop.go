package main

import (
	"context"
	"errors"
	"log"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/javakey"
)

// shop has the methods of the Spring service, under the same locks.
type shop struct {
	locker *distlock.Locker
	books  books

	sell    distlock.Func[Item, int]
	restock distlock.Func[Item, int]
	book    distlock.Func[string, int]
}

// poll is the largest pause between two attempts of the Spring side: twice its
// retryInterval.
const poll = 40 * time.Millisecond

func newShop(rdb *redis.Client, options ...redislock.Option) *shop {
	locker := distlock.New(redislock.New(rdb, options...), distlock.Config{})
	b := books{rdb}

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
	return &shop{
		locker:  locker,
		books:   b,
		sell:    distlock.Wrap(locker, b.sell, stock),
		restock: distlock.Wrap(locker, b.restock, stock),
		book:    distlock.Wrap(locker, b.book, ledger),
	}
}

func (s *shop) close() { _ = s.locker.Close() }

// report starts the job ten times a second, as every instance does, until ctx ends.
func (s *shop) report(ctx context.Context) {
	// @SchedulerLock(name = "report", lockAtMostFor = "10s", lockAtLeastFor = "1s")
	run := distlock.Wrap(s.locker, s.runReport, distlock.Opts{
		Value:      "report",
		KeyFormat:  javakey.ShedLock("prod"),
		RetryCount: 1,                // skip if another has it
		MinHold:    time.Second,      // lockAtLeastFor
		MaxHold:    10 * time.Second, // lockAtMostFor
	})
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if _, err := run(ctx, struct{}{}); err != nil && !errors.Is(err, distlock.ErrNotAcquired) && ctx.Err() == nil {
			log.Print("report: ", err)
		}
	}
}

func (s *shop) runReport(ctx context.Context, _ struct{}) (struct{}, error) {
	return struct{}{}, s.books.rdb.RPush(ctx, "reports", "go").Err()
}
