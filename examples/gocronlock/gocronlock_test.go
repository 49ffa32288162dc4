package gocronlock_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/google/uuid"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/examples/gocronlock"
)

// start starts a scheduler with one job, every minute, on a store. stop waits for the job.
func start(t *testing.T, store *memlock.Backend, name string, task func(*distlock.Locker, *gocronlock.Locker) any, opts ...gocron.JobOption) (stop func()) {
	t.Helper()
	l := distlock.New(store, distlock.Config{})
	locker := gocronlock.New(l, distlock.Opts{Prefix: "cron:", MinHold: 10 * time.Second})
	s, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker))
	if err != nil {
		t.Fatal(err)
	}
	job := gocron.NewTask(task(l, locker))
	if _, err := s.NewJob(gocron.DurationJob(time.Minute), job, append(opts, gocron.WithName(name))...); err != nil {
		t.Fatal(err)
	}
	s.Start()
	return func() {
		if err := errors.Join(s.Shutdown(), l.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestOncePerPeriod runs a quick job in three processes, which were started one second
// apart, for five periods.
func TestOncePerPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memlock.New()
		var runs, refused atomic.Int32
		for range 3 {
			stop := start(t, store, "report", func(_ *distlock.Locker, l *gocronlock.Locker) any {
				return l.Task("report", func(ctx context.Context) error {
					if _, ok := distlock.FromContext(ctx); !ok {
						t.Error("the context has no lease")
					}
					runs.Add(1)
					return nil
				})
			}, gocron.WithEventListeners(gocron.AfterLockError(func(_ uuid.UUID, _ string, err error) {
				if !errors.Is(err, distlock.ErrNotAcquired) {
					t.Errorf("Lock: %v", err)
				}
				refused.Add(1)
			})))
			t.Cleanup(stop)
			time.Sleep(time.Second)
		}
		time.Sleep(5*time.Minute + 30*time.Second)
		if runs.Load() != 5 || refused.Load() != 10 {
			t.Errorf("in 5 periods the job ran %d times, and was refused %d times", runs.Load(), refused.Load())
		}
	})
}

// TestLoss: the context of a job ends when its lock is lost, and gocron is told.
func TestLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := make(chan error, 1)
		stop := start(t, memlock.New(), "report", func(d *distlock.Locker, l *gocronlock.Locker) any {
			return l.Task("report", func(ctx context.Context) error {
				if _, err := admin.ForceRelease(ctx, d, "cron:report"); err != nil {
					return err
				}
				<-ctx.Done()
				return nil
			})
		}, gocron.WithEventListeners(gocron.AfterJobRunsWithError(func(_ uuid.UUID, _ string, err error) { failed <- err })))
		defer stop()
		if err := <-failed; !errors.Is(err, distlock.ErrLost) {
			t.Errorf("the job failed with %v", err)
		}
	})
}

// TestShutdown: the job is told that the scheduler shuts down, and has its lock until it
// returns.
func TestShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		running, done := make(chan bool), make(chan bool)
		stop := start(t, memlock.New(), "report", func(_ *distlock.Locker, l *gocronlock.Locker) any {
			return l.Task("report", func(ctx context.Context) error {
				close(running)
				<-ctx.Done()
				lease, _ := distlock.FromContext(ctx)
				if !errors.Is(context.Cause(ctx), context.Canceled) || lease.Check() != nil {
					t.Errorf("it ends with %v, and the lease is valid: %t", context.Cause(ctx), lease.Check() == nil)
				}
				close(done)
				return nil
			})
		})
		<-running
		stop()
		<-done
	})
}

// TestWrongName: a task with another name than its job does not run.
func TestWrongName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := make(chan error, 1)
		stop := start(t, memlock.New(), "report", func(_ *distlock.Locker, l *gocronlock.Locker) any {
			return l.Task("repotr", func(context.Context) error { t.Error("it ran"); return nil })
		}, gocron.WithEventListeners(gocron.AfterJobRunsWithError(func(_ uuid.UUID, _ string, err error) { failed <- err })))
		defer stop()
		if err := <-failed; err == nil {
			t.Error("no error")
		}
	})
}

// TestNames: a job runs whatever it is called, also if gocron names it by its function, and
// the hooks see that name.
func TestNames(t *testing.T) {
	for _, name := range []string{"report", "Daily report", "cleanup {{.Tenant}}", "sync\tusers", "отчёт", strings.Repeat("x", 1_000), ""} {
		synctest.Test(t, func(t *testing.T) {
			var runs atomic.Int32
			var told atomic.Value
			l := distlock.New(memlock.New(), distlock.Config{Hooks: distlock.Hooks{
				Event: func(_ context.Context, e distlock.Event) { told.Store(e.Name) },
			}})
			s, err := gocron.NewScheduler(gocron.WithDistributedLocker(gocronlock.New(l, distlock.Opts{Prefix: "cron:"})))
			if err != nil {
				t.Fatal(err)
			}
			var opts []gocron.JobOption
			if name != "" {
				opts = append(opts, gocron.WithName(name))
			}
			job, err := s.NewJob(gocron.DurationJob(time.Minute), gocron.NewTask(func() { runs.Add(1) }), opts...)
			if err != nil {
				t.Fatal(err)
			}
			s.Start()
			time.Sleep(90 * time.Second)
			if err := errors.Join(s.Shutdown(), l.Close()); err != nil {
				t.Error(err)
			}
			if runs.Load() != 1 || told.Load() != "cron:"+job.Name() {
				t.Errorf("%.20q ran %d times, as %.30q", job.Name(), runs.Load(), told.Load())
			}
		})
	}
}
