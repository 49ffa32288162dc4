package main

import (
	"context"
	"errors"
	"log"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/backend/redissonlock"
	"github.com/distlock-go/distlock/javakey"
)

// methods are the methods of the Spring service, under one kind of lock.
type methods struct {
	sell    distlock.Func[Item, int]
	restock distlock.Func[Item, int]
	book    distlock.Func[string, int]
}

// shop has the methods of the Spring service under each kind of lock that it has there.
type shop struct {
	locker   *distlock.Locker
	redisson *distlock.Locker
	books    books
	under    map[string]methods
}

func newShop(rdb *redis.Client, options ...redislock.Option) *shop {
	s := &shop{
		locker:   distlock.New(redislock.New(rdb, options...), distlock.Config{}),
		redisson: distlock.New(redissonlock.New(rdb), distlock.Config{}),
		books:    books{rdb},
	}
	s.under = map[string]methods{
		"aspect":   underAspect(s.locker, s.books),
		"lock4j":   underLock4j(s.locker, s.books),
		"redisson": underRedisson(s.redisson, s.books),
		"unlocked": {s.books.sell, s.books.restock, s.books.book},
	}
	return s
}

func (s *shop) close() {
	_ = s.locker.Close()
	_ = s.redisson.Close()
}

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
