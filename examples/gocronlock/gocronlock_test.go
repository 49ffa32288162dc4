package gocronlock_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/google/uuid"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/examples/gocronlock"
	"github.com/distlock-go/distlock/internal/test/adaptertest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// schedule runs a scheduler with one job until ctx ends. tell gets the result of each
// run.
func schedule(ctx context.Context, l *gocronlock.Locker, every gocron.JobDefinition, task any, tell func(error), opts ...gocron.JobOption) error {
	s, err := gocron.NewScheduler(gocron.WithDistributedLocker(l))
	if err != nil {
		return err
	}
	failed := func(_ uuid.UUID, _ string, err error) { tell(err) }
	_, err = s.NewJob(every, gocron.NewTask(task), append(opts, gocron.WithEventListeners(
		gocron.AfterLockError(failed), gocron.AfterJobRunsWithError(failed),
		gocron.AfterJobRuns(func(uuid.UUID, string) { tell(nil) })))...)
	if err != nil {
		return err
	}
	s.Start()
	<-ctx.Done()
	return s.Shutdown()
}

var adapter = adaptertest.Adapter{Name: "gocron", Key: "app:Daily%20report", Skips: true, Open: func(l *distlock.Locker, o distlock.Opts) adaptertest.Run {
	locker := gocronlock.New(l, o)
	return func(ctx context.Context, job adaptertest.Job) error {
		if ctx.Err() != nil {
			return ctx.Err() // the scheduler is not started
		}
		running, end := context.WithCancel(context.WithoutCancel(ctx))
		var result error
		err := schedule(running, locker, gocron.DurationJob(time.Hour), locker.Task("Daily report", func(own context.Context) error {
			own, cancel := context.WithCancel(own)
			defer cancel()
			defer context.AfterFunc(ctx, cancel)()
			return job(own)
		}), func(err error) { result = err; end() }, gocron.WithName("Daily report"), gocron.WithStartAt(gocron.WithStartImmediately()))
		return errors.Join(result, err)
	}
}}

func TestMain(m *testing.M) { adaptertest.Main(m, adapter) }

func TestAdapter(t *testing.T) { adaptertest.Test(t, adapter) }

// TestOncePerPeriod runs a quick job, which gocron names by its function, in three
// processes, which were started one second apart, for five periods.
func TestOncePerPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memlock.New()
		var runs, refused atomic.Int32
		for range 3 {
			l := testkit.NewLocker(t, store, distlock.Config{})
			locker := gocronlock.New(l, distlock.Opts{Prefix: "cron:", MinHold: 10 * time.Second})
			ended := make(chan error, 1)
			go func() {
				ended <- schedule(t.Context(), locker, gocron.DurationJob(time.Minute), func() { runs.Add(1) }, func(err error) {
					if errors.Is(err, distlock.ErrNotAcquired) {
						refused.Add(1)
					} else if err != nil {
						t.Error(err)
					}
				})
			}()
			t.Cleanup(func() { testkit.WantIs(t, <-ended) })
			time.Sleep(time.Second)
		}
		time.Sleep(5*time.Minute + 30*time.Second)
		if runs.Load() != 5 || refused.Load() != 10 {
			t.Errorf("in 5 periods the job ran %d times, and was refused %d times", runs.Load(), refused.Load())
		}
	})
}

// TestTask: a task with another name than its job does not run. The hooks see the job's
// name.
func TestTask(t *testing.T) {
	var told atomic.Value
	on := testkit.On{distlock.Acquired: func(_ context.Context, e distlock.Event) { told.Store(e.Name) }}
	l := testkit.NewLocker(t, memlock.New(), distlock.Config{Hooks: distlock.Hooks{Event: on.Event}})
	locker := gocronlock.New(l, distlock.Opts{Prefix: "cron:"})
	held, err := locker.Lock(t.Context(), "отчёт {{.Tenant}}")
	if err != nil || told.Load() != "cron:отчёт {{.Tenant}}" {
		t.Fatalf("the hooks are told of %v; %v", told.Load(), err)
	}
	if err := locker.Task("report", func(context.Context) error { t.Error("it ran"); return nil })(t.Context()); err == nil {
		t.Error("no error")
	}
	testkit.WantIs(t, held.Unlock(t.Context()))
}

// TestShutdown: the job is told that the scheduler shuts down, and has its lock until
// it returns.
func TestShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locker := gocronlock.New(testkit.NewLocker(t, memlock.New(), distlock.Config{}), distlock.Opts{Prefix: "cron:"})
		ctx, shutDown := context.WithCancel(t.Context())
		ran := false
		testkit.WantIs(t, schedule(ctx, locker, gocron.DurationJob(time.Minute), locker.Task("report", func(ctx context.Context) error {
			shutDown()
			<-ctx.Done()
			lease, _ := distlock.FromContext(ctx)
			testkit.WantIs(t, context.Cause(ctx), context.Canceled)
			testkit.WantIs(t, lease.Check())
			ran = true
			return nil
		}), func(error) {}, gocron.WithName("report")))
		if !ran {
			t.Error("it did not run")
		}
	})
}
