package rediskit_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
)

// result is what done was called with.
type result struct {
	value int
	err   error
	after time.Duration
}

// call calls op, which takes so long, with a limit, and returns each call of done until
// all goroutines wait.
func call(t *testing.T, takes, limit time.Duration, err error) []result {
	t.Helper()
	bg := rediskit.NewBackground()
	w := rediskit.NewWorkers(bg.Done())
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	start := time.Now()
	results := make(chan result, 8)
	op := func(context.Context) (int, error) {
		time.Sleep(takes)
		return 7, err
	}
	rediskit.Call(ctx, w, bg, op, func(v int, err error) { results <- result{v, err, time.Since(start)} })
	if d := time.Since(start); d != 0 {
		t.Errorf("Call blocked for %v", d)
	}
	time.Sleep(max(takes, limit) + time.Second)
	bg.End(time.Second)
	var all []result
	for len(results) > 0 {
		all = append(all, <-results)
	}
	return all
}

func TestCall(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		name         string
		takes, limit time.Duration
		err          error
		want         result
	}{
		{"in time", time.Second, time.Minute, nil, result{7, nil, time.Second}},
		{"failure", time.Second, time.Minute, broken, result{7, broken, time.Second}},
		{"late", time.Minute, time.Second, nil, result{0, context.DeadlineExceeded, time.Second}},
		{"late failure", time.Minute, time.Second, broken, result{0, context.DeadlineExceeded, time.Second}},
	} {
		synctest.Test(t, func(t *testing.T) {
			got := call(t, c.takes, c.limit, c.err)
			if len(got) != 1 || got[0].value != c.want.value || !errors.Is(got[0].err, c.want.err) || got[0].after != c.want.after {
				t.Errorf("%s: done was called with %+v, want once with %+v", c.name, got, c.want)
			}
		})
	}
}

// End waits for an operation that was abandoned, up to its limit.
func TestEndWaitsForAbandonedCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bg := rediskit.NewBackground()
		w := rediskit.NewWorkers(bg.Done())
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		op := func(context.Context) (int, error) {
			time.Sleep(3 * time.Second)
			return 0, nil
		}
		rediskit.Call(ctx, w, bg, op, func(int, error) {})
		start := time.Now()
		bg.End(time.Minute)
		if d := time.Since(start); d != 3*time.Second {
			t.Errorf("End took %v, want the 3s of the operation", d)
		}
	})
}
