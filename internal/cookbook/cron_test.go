package cookbook_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/internal/cookbook"
)

// TestNightly: cron starts the report on five machines with different clocks, forty times in
// eight minutes. Each of three nights has one report.
func TestNightly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, machines := newProcesses(t, 5)
		var reports gauge
		for range 3 {
			for range 8 { // minutes
				for _, m := range machines {
					if err := cookbook.Nightly(t.Context(), m, func(context.Context) error {
						reports.begin()
						defer reports.end()
						time.Sleep(30 * time.Second)
						return nil
					}); err != nil {
						t.Error(err)
					}
				}
				time.Sleep(time.Minute)
			}
			time.Sleep(24 * time.Hour)
		}
		if n := reports.total.Load(); n != 3 {
			t.Errorf("%d reports, want 3", n)
		}
	})
}

// TestNightlyAtTheSameTime: five machines start at the same time, and four skip.
func TestNightlyAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memlock.New()
		var reports atomic.Int32
		report := func(ctx context.Context) error {
			reports.Add(1)
			time.Sleep(time.Minute)
			return ctx.Err()
		}
		var machines sync.WaitGroup
		for range 5 {
			machines.Go(func() {
				locker := distlock.New(store, distlock.Config{})
				defer locker.Close()
				if err := cookbook.Nightly(t.Context(), locker, report); err != nil {
					t.Error(err)
				}
			})
		}
		machines.Wait()
		if n := reports.Load(); n != 1 {
			t.Errorf("%d reports, want 1", n)
		}
	})
}
