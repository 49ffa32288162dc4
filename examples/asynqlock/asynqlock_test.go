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
	"github.com/distlock-go/distlock/internal/test/adaptertest"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

var adapter = adaptertest.Adapter{Name: "Exclusive", Key: "app:order:42", Open: open}

func open(l *distlock.Locker, o distlock.Opts) adaptertest.Run {
	o.Value = "order"
	lock := asynqlock.Exclusive(l, o, func(task *asynq.Task) (any, error) {
		return string(task.Payload()), nil
	})
	return func(ctx context.Context, job adaptertest.Job) error {
		handler := lock(asynq.HandlerFunc(func(ctx context.Context, _ *asynq.Task) error { return job(ctx) }))
		return handler.ProcessTask(ctx, asynq.NewTask("order", []byte("42")))
	}
}

func TestMain(m *testing.M) { adaptertest.Main(m, adapter) }

func TestAdapter(t *testing.T) { adaptertest.Test(t, adapter) }

// TestSchedule runs the scheduler of two processes. The leader alone enqueues tasks,
// and the other one does when the leader has shut down.
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
		locker := testkit.NewLocker(t, redislock.New(server.Client(t), redislock.Config{}), distlock.Config{})
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

// TestExclusive runs tasks of two customers in a server with several workers. The tasks
// of one customer do not overlap: one meets a busy lock before the first one returns.
// All are done although each may fail only once.
func TestExclusive(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	locker := testkit.NewLocker(t, redislock.New(redis.Client(t), redislock.Config{}), distlock.Config{})

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
	mux.HandleFunc("order", func(_ context.Context, task *asynq.Task) error {
		customer := string(task.Payload())
		if users[customer].Add(1) != 1 {
			t.Errorf("two tasks of %s at the same time", customer)
		}
		defer users[customer].Add(-1)
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

// TestIsFailure: a task that did not run has not failed. One that has run has, whatever
// its error.
func TestIsFailure(t *testing.T) {
	t.Parallel()
	l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
	run := open(l, distlock.Opts{RetryCount: 1})
	var busy error
	lost := run(t.Context(), func(ctx context.Context) error {
		busy = run(t.Context(), func(context.Context) error { return nil })
		return testkit.Lose(ctx, l)
	})
	own := run(t.Context(), func(context.Context) error { return distlock.ErrNotAcquired })
	noKey := errors.New("no customer")
	unkeyed := asynqlock.Exclusive(l, distlock.Opts{Value: "order"}, func(*asynq.Task) (any, error) { return nil, noKey })(nil)
	for name, c := range map[string]struct {
		got, want error
		failure   bool
	}{
		"busy": {busy, distlock.ErrNotAcquired, false}, "lost": {lost, distlock.ErrLost, true},
		"its own": {own, distlock.ErrNotAcquired, true}, "none": {nil, nil, false},
		"its key": {unkeyed.ProcessTask(t.Context(), nil), noKey, true},
	} {
		if !errors.Is(c.got, c.want) || asynqlock.IsFailure(c.got) != c.failure {
			t.Errorf("%s: %v, a failure: %t", name, c.got, asynqlock.IsFailure(c.got))
		}
	}
}
