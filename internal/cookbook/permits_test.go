package cookbook_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/cookbook"
)

// TestExport: forty exports of eleven seconds in five processes. Four run at the same
// time, so six times four begin within the minute that a caller waits.
func TestExport(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, processes := newProcesses(t, 5)
		var exports, refused gauge
		start := time.Now()
		together(processes, 8, func(l *distlock.Locker) {
			err := cookbook.Export(t.Context(), l, func(context.Context) error {
				exports.begin()
				defer exports.end()
				time.Sleep(11 * time.Second)
				return nil
			})
			if err == nil {
				return
			}
			refused.begin()
			if !errors.Is(err, distlock.ErrNotAcquired) || time.Since(start) != time.Minute {
				t.Errorf("after %v: %v", time.Since(start), err)
			}
		})
		if n, most := exports.total.Load(), exports.most.Load(); n != 24 || most != 4 || refused.total.Load() != 16 {
			t.Errorf("%d exports, at most %d at once, %d refused", n, most, refused.total.Load())
		}
	})
}

// TestCallBank: twenty quick calls in five processes. Four begin at once, and four in
// each second after that.
func TestCallBank(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, processes := newProcesses(t, 5)
		var mu sync.Mutex
		var began []time.Duration
		start := time.Now()
		together(processes, 4, func(l *distlock.Locker) {
			if err := cookbook.CallBank(t.Context(), l, func(context.Context) error {
				mu.Lock()
				defer mu.Unlock()
				began = append(began, time.Since(start))
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
		slices.Sort(began)
		for i, d := range began {
			if want := time.Duration(i/4) * time.Second; d != want {
				t.Errorf("call %d began after %v, want %v", i, d, want)
			}
		}
		if len(began) != 20 {
			t.Errorf("%d calls", len(began))
		}
	})
}
