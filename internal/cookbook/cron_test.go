package cookbook_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/cookbook"
)

// TestNightly: cron starts the report on five machines at the same time, and again in
// each of the next seven minutes, as on late clocks. Each of three nights has one
// report.
func TestNightly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, machines := newProcesses(t, 5)
		var reports gauge
		for range 3 {
			for range 8 { // minutes
				together(machines, 1, func(m *distlock.Locker) {
					if err := cookbook.Nightly(t.Context(), m, func(context.Context) error {
						reports.begin()
						defer reports.end()
						time.Sleep(30 * time.Second)
						return nil
					}); err != nil {
						t.Error(err)
					}
				})
				time.Sleep(time.Minute)
			}
			time.Sleep(24 * time.Hour)
		}
		if n := reports.total.Load(); n != 3 {
			t.Errorf("%d reports, want 3", n)
		}
	})
}
