package locktest_test

import (
	"context"
	"slices"
	"time"

	"github.com/distlock-go/distlock/driver"
)

var inspectMutants = []mutant{
	{"lists-one-key-for-none", []string{"inspect/prefix-and-limit"}, func(s *spoiled) {
		s.inspect = func(ctx context.Context, prefix string, limit int) ([]driver.KeyInfo, error) {
			return s.Backend.Inspect(ctx, prefix, max(limit, 1))
		}
	}},
	{"lists-another-key-first", []string{"inspect/prefix-and-limit"}, func(s *spoiled) {
		s.inspect = func(ctx context.Context, prefix string, limit int) ([]driver.KeyInfo, error) {
			if limit != 1 {
				return s.Backend.Inspect(ctx, prefix, limit)
			}
			all, err := s.Backend.Inspect(ctx, prefix, 1000)
			return all[max(0, len(all)-1):], err
		}
	}},
	{"lists-holders-from-the-end", []string{"inspect/together"}, func(s *spoiled) {
		s.show(func(info *driver.KeyInfo) { slices.Reverse(info.Holders) })
	}},
	{"lists-waiters-from-the-end", []string{"inspect/waiters"}, func(s *spoiled) {
		s.show(func(info *driver.KeyInfo) { slices.Reverse(info.Waiters) })
	}},
	{"names-the-waiters-like-the-holder", []string{"inspect/waiters"}, func(s *spoiled) {
		s.show(func(info *driver.KeyInfo) {
			for i := range info.Waiters {
				info.Waiters[i].Waiter = info.Holders[0].Holder
			}
		})
	}},
	{"lists-what-waiters-ask-for-as-exclusive", []string{"inspect/waiters"}, func(s *spoiled) {
		s.show(func(info *driver.KeyInfo) {
			for i := range info.Waiters {
				info.Waiters[i].Mode, info.Waiters[i].Permits = driver.Exclusive, 0
			}
		})
	}},
	{"lists-when-the-store-began", []string{"inspect/waiters"}, func(s *spoiled) {
		s.show(func(info *driver.KeyInfo) {
			for i := range info.Waiters {
				info.Waiters[i].Since = time.Unix(0, 0)
			}
		})
	}},
	{"counts-the-waiters-that-it-lists", []string{"inspect/waiters"}, func(s *spoiled) {
		s.show(func(info *driver.KeyInfo) { info.Waiting = len(info.Waiters) })
	}},
	{"lists-waiters-that-have-left", []string{"inspect/waiters"}, func(s *spoiled) {
		var seen []driver.WaiterInfo
		s.show(func(info *driver.KeyInfo) {
			if len(info.Waiters) < len(seen) {
				info.Waiters = seen
			}
			seen = info.Waiters
		})
	}},
}
