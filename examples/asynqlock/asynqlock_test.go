package asynqlock_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/examples/asynqlock"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// TestSchedule runs the scheduler of two processes. The leader alone enqueues tasks, and
// the other one does when the leader has shut down.
func TestSchedule(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	type process struct {
		enqueued chan bool
		stop     func()
	}
	var processes []process
	for range 2 {
		p := process{enqueued: make(chan bool, 100)}
		locker := distlock.New(redislock.New(server.Client(t), redislock.Config{}), distlock.Config{})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- asynqlock.Schedule(ctx, locker, "scheduler", distlock.Opts{Prefix: "asynq:"}, func() (*asynq.Scheduler, error) {
				s := asynq.NewSchedulerFromRedisClient(server.Client(t), &asynq.SchedulerOpts{
					LogLevel:        asynq.FatalLevel,
					PostEnqueueFunc: func(*asynq.TaskInfo, error) { p.enqueued <- true },
				})
				_, err := s.Register("@every 1s", asynq.NewTask("report", nil))
				return s, err
			})
		}()
		p.stop = func() {
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("Schedule: %v", err)
			}
			if err := locker.Close(); err != nil {
				t.Error(err)
			}
		}
		if len(processes) == 0 {
			<-p.enqueued // it leads
		}
		processes = append(processes, p)
	}
	first, second := processes[0], processes[1]
	<-first.enqueued
	if len(second.enqueued) > 0 {
		t.Error("both have enqueued tasks")
	}
	first.stop()
	<-second.enqueued
	second.stop()
}

// TestExclusive runs tasks of two customers in a server with several workers. The tasks of
// one customer do not overlap: one meets a busy lock before the first one returns. All are
// done although each may fail only once.
func TestExclusive(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	locker := distlock.New(redislock.New(redis.Client(t), redislock.Config{}), distlock.Config{})
	defer locker.Close()

	client := asynq.NewClientFromRedisClient(redis.Client(t))
	const tasks = 8
	for i := range tasks {
		customer := []string{"anna", "bela"}[i%2]
		if _, err := client.Enqueue(asynq.NewTask("order", []byte(customer)), asynq.MaxRetry(1)); err != nil {
			t.Fatal(err)
		}
	}

	met, meet := context.WithCancel(t.Context()) // a task has met a busy lock
	users := map[string]*atomic.Int32{"anna": {}, "bela": {}}
	done := make(chan string, tasks)
	mux := asynq.NewServeMux()
	mux.Use(asynqlock.Exclusive(locker, distlock.Opts{Prefix: "shop:", Value: "order", RetryCount: 1},
		func(task *asynq.Task) (any, error) { return string(task.Payload()), nil }))
	mux.HandleFunc("order", func(ctx context.Context, task *asynq.Task) error {
		customer := string(task.Payload())
		if users[customer].Add(1) != 1 {
			t.Errorf("two tasks of %s at the same time", customer)
		}
		defer users[customer].Add(-1)
		if _, ok := distlock.FromContext(ctx); !ok {
			t.Error("the context has no lease")
		}
		<-met.Done()
		done <- customer
		return nil
	})
	server := asynq.NewServerFromRedisClient(redis.Client(t), asynq.Config{
		Concurrency:              tasks,
		LogLevel:                 asynq.FatalLevel,
		TaskCheckInterval:        20 * time.Millisecond,
		DelayedTaskCheckInterval: 20 * time.Millisecond,
		RetryDelayFunc:           func(int, error, *asynq.Task) time.Duration { return time.Millisecond },
		IsFailure: func(err error) bool {
			if errors.Is(err, distlock.ErrNotAcquired) {
				meet()
			}
			return asynqlock.IsFailure(err)
		},
	})
	if err := server.Start(mux); err != nil {
		t.Fatal(err)
	}
	for range tasks {
		<-done
	}
	server.Shutdown()
}

// TestHandler: what the middleware returns when the lock is busy, when it is lost, and when
// the handler or the key fails.
func TestHandler(t *testing.T) {
	t.Parallel()
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()
	var key any = "42"
	var keyErr error
	run := func(f func(ctx context.Context) error) error {
		lock := asynqlock.Exclusive(locker, distlock.Opts{Value: "order", RetryCount: 1}, func(*asynq.Task) (any, error) { return key, keyErr })
		return lock(asynq.HandlerFunc(func(ctx context.Context, _ *asynq.Task) error { return f(ctx) })).ProcessTask(t.Context(), asynq.NewTask("order", nil))
	}

	err := run(func(context.Context) error {
		err := run(func(context.Context) error { t.Error("two at the same time"); return nil })
		if !errors.Is(err, distlock.ErrNotAcquired) || asynqlock.IsFailure(err) {
			t.Errorf("busy: %v, a failure: %t", err, asynqlock.IsFailure(err))
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}

	err = run(func(ctx context.Context) error {
		if lost := testkit.Lose(ctx, locker); !errors.Is(lost, distlock.ErrLost) {
			t.Error(lost)
		}
		return nil
	})
	if !errors.Is(err, distlock.ErrLost) || !asynqlock.IsFailure(err) {
		t.Errorf("lost: %v, a failure: %t", err, asynqlock.IsFailure(err))
	}

	own := errors.Join(errors.New("another lock"), distlock.ErrNotAcquired)
	if err := run(func(context.Context) error { return own }); !errors.Is(err, own) || !asynqlock.IsFailure(err) {
		t.Errorf("the handler's own error: %v, a failure: %t", err, asynqlock.IsFailure(err))
	}

	keyErr = errors.New("no customer")
	if err := run(func(context.Context) error { t.Error("it ran"); return nil }); !errors.Is(err, keyErr) {
		t.Errorf("an error of the key: %v", err)
	}
}
