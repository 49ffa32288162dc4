// Package asynqlock has two locks for asynq: one process schedules the periodic tasks,
// and tasks about the same thing do not overlap.
//
// Most tasks need no lock. But several processes with an [asynq.Scheduler] each enqueue each
// task: with [Schedule] the leader does it. And tasks about one thing may run at the same
// time: with [Exclusive] they do not. asynq repeats tasks, and a scheduler that was paused may
// enqueue one twice, which [asynq.Unique] removes while the first is in the queue.
//
// # When the lock is lost
//
// The scheduler of a leader that loses the leadership is shut down, and the next leader
// starts its own. The context of a handler is cancelled, with cause [distlock.ErrLost],
// and its error is an ErrLost, so that asynq repeats the task. Every task has to bear
// that, because asynq repeats one whose worker crashes, too. One that cannot returns
// [asynq.SkipRetry] with its error, and somebody has to look.
package asynqlock

import (
	"context"

	"github.com/hibiken/asynq"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/wiring"
)

// Schedule runs a scheduler while this process is the leader, and returns when ctx
// ends. newScheduler returns one with all its entries, because a scheduler cannot be
// started twice; it is called at the beginning of each term. If it fails, or if the
// scheduler cannot start, Schedule returns the error. key and o are as in
// [distlock.Locker.Lead].
func Schedule(ctx context.Context, l *distlock.Locker, key string, o distlock.Opts, newScheduler func() (*asynq.Scheduler, error)) error {
	return l.Lead(ctx, key, o, func(ctx context.Context) error {
		s, err := newScheduler()
		if err != nil {
			return err
		}
		if err := s.Start(); err != nil {
			return err
		}
		<-ctx.Done()
		s.Shutdown() // waits for the entry that is being enqueued
		return nil
	})
}

// Exclusive returns a middleware for [asynq.ServeMux.Use] and for single handlers.
// Tasks with equal parameters do not overlap; key returns them, or [distlock.Skip] for
// a task that needs no lock. A task that finds its lock busy fails with
// [distlock.ErrNotAcquired] after o.MaxWait, in which it occupies a worker; asynq
// repeats it later. With [IsFailure] that does not count as one of its retries.
// Exclusive panics if o is invalid.
func Exclusive(l *distlock.Locker, o distlock.Opts, key func(*asynq.Task) (any, error)) asynq.MiddlewareFunc {
	o.ParamLock = true
	site := wiring.Bind(l, o)
	return func(next asynq.Handler) asynq.Handler {
		return asynq.HandlerFunc(func(ctx context.Context, task *asynq.Task) error {
			params, err := key(task)
			if err != nil {
				return err
			}
			return site.Do(ctx, params, func(ctx context.Context) error { return next.ProcessTask(ctx, task) })
		})
	}
}

// IsFailure is for [asynq.Config]: a task that did not run, because its lock was busy
// or the store of the locks did not answer, has not failed.
func IsFailure(err error) bool { return err != nil && distlock.Ran(err) }
