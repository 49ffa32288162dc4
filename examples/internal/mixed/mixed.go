// Package mixed runs a job under several kinds of lock at the same time, as in a fleet
// that moves from one library to another. Only tests import it.
package mixed

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Job is what runs under a lock.
type Job = func(ctx context.Context) error

const (
	goroutines = 3 // for each kind of lock
	turns      = 5 // for each goroutine
)

// Run runs a job under each kind of lock, three goroutines for each kind, five times each.
// It returns an error if two jobs overlap, or if a lock fails.
func Run(ctx context.Context, kinds ...func(ctx context.Context, job Job) error) error {
	var users, runs atomic.Int32
	job := func(context.Context) error {
		defer users.Add(-1)
		if n := users.Add(1); n != 1 {
			return fmt.Errorf("%d holders at the same time", n)
		}
		time.Sleep(time.Millisecond)
		runs.Add(1)
		return nil
	}
	var all sync.WaitGroup
	errs := make([]error, goroutines*len(kinds))
	for i := range errs {
		all.Go(func() {
			for range turns {
				errs[i] = errors.Join(errs[i], kinds[i%len(kinds)](ctx, job))
			}
		})
	}
	all.Wait()
	if got, want := int(runs.Load()), turns*len(errs); got != want {
		errs = append(errs, fmt.Errorf("the job has run %d times, want %d", got, want))
	}
	return errors.Join(errs...)
}
