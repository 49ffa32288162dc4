package cookbook_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/cookbook"
)

// row is a cookbook.Periods.
type row struct {
	mu   sync.Mutex
	last time.Time
}

func (r *row) Last(context.Context) (time.Time, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last, nil
}

func (r *row) Done(_ context.Context, day time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.last.Before(day) {
		return errors.New("it is done")
	}
	r.last = day
	return nil
}

// TestCatchUp: each hour five machines start the report. Nobody does for three days, and
// the first report after that fails: each day that saw a machine has one report.
func TestCatchUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, machines := newProcesses(t, 5)
		var reports gauge
		done, db, failed := map[time.Time]int{}, new(row), false
		hours := func(n int) {
			for range n {
				together(machines, 1, func(m *distlock.Locker) {
					_ = cookbook.CatchUp(t.Context(), m, db, func(_ context.Context, day time.Time) error {
						reports.begin()
						defer reports.end()
						time.Sleep(30 * time.Second)
						if len(done) == 2 && !failed {
							failed = true
							return errors.New("no paper")
						}
						done[day]++
						return nil
					})
				})
				time.Sleep(time.Hour)
			}
		}
		hours(25)                  // two days
		time.Sleep(72 * time.Hour) // an outage
		hours(3)
		if n := reports.total.Load(); len(done) != 3 || n != 4 || reports.most.Load() != 1 {
			t.Errorf("reports of %v, %d in all, %d at once", done, n, reports.most.Load())
		}
	})
}
