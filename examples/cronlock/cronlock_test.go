package cronlock_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/examples/cronlock"
	"github.com/distlock-go/distlock/examples/jobkey"
)

// Two processes have the same crontab. The report runs in one of them.
func Example() {
	store := memlock.New() // in a real program redislock, sqllock, …
	ctx := context.Background()
	var crontabs []*cron.Cron
	for _, host := range []string{"web-1", "web-2"} {
		locker := distlock.New(store, distlock.Config{Holder: host})
		crontab := cron.New()
		report := distlock.Opts{Prefix: "cron:", Value: "report", MinHold: time.Minute}
		_, err := crontab.AddJob("0 3 * * *", cronlock.Once(ctx, locker, report, cron.DiscardLogger, func(context.Context) error {
			fmt.Println("report")
			return nil
		}))
		if err != nil {
			panic(err)
		}
		crontabs = append(crontabs, crontab)
	}

	for _, crontab := range crontabs { // a program calls Start, and this happens at three
		crontab.Entries()[0].WrappedJob.Run()
	}
	// Output: report
}

// log counts what a job reports.
type log struct {
	skipped atomic.Int32
	err     error
}

func (l *log) Info(string, ...any)                 { l.skipped.Add(1) }
func (l *log) Error(err error, _ string, _ ...any) { l.err = err }

// TestOncePerPeriod runs a quick job in three processes for five periods, with clocks that
// differ by a second.
func TestOncePerPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, logger := memlock.New(), new(log)
		var once, skip atomic.Int32
		for range 3 {
			locker := distlock.New(store, distlock.Config{})
			t.Cleanup(func() { locker.Close() })
			crontab := cron.New()
			opts := distlock.Opts{Value: "once", MinHold: 10 * time.Second}
			job := cronlock.Once(t.Context(), locker, opts, logger, func(context.Context) error { once.Add(1); return nil })
			if _, err := crontab.AddJob("* * * * *", job); err != nil {
				t.Fatal(err)
			}
			opts.Value = "skip"
			chain := cron.NewChain(cronlock.Skip(t.Context(), locker, opts, logger))
			if _, err := crontab.AddJob("* * * * *", chain.Then(cron.FuncJob(func() { skip.Add(1) }))); err != nil {
				t.Fatal(err)
			}
			crontab.Start()
			t.Cleanup(func() { crontab.Stop() })
			time.Sleep(time.Second)
		}
		start := time.Now()
		time.Sleep(start.Truncate(time.Minute).Add(5*time.Minute + 30*time.Second).Sub(start))
		if once.Load() != 5 || skip.Load() != 5 || logger.skipped.Load() != 20 || logger.err != nil {
			t.Errorf("in 5 periods the jobs ran %d and %d times, skipped %d, %v", once.Load(), skip.Load(), logger.skipped.Load(), logger.err)
		}
	})
}

// TestLoss: the context of a job ends when its lock is lost, and the error is logged.
func TestLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logger := new(log)
		locker := distlock.New(memlock.New(), distlock.Config{})
		defer locker.Close()
		cronlock.Once(t.Context(), locker, distlock.Opts{Value: "report"}, logger, func(ctx context.Context) error {
			if _, err := admin.ForceRelease(ctx, locker, "report"); err != nil {
				return err
			}
			<-ctx.Done()
			return nil
		}).Run()
		if !errors.Is(logger.err, distlock.ErrLost) || logger.skipped.Load() != 0 {
			t.Errorf("logged: %v, skipped %d", logger.err, logger.skipped.Load())
		}
	})
}

// TestName: a job may have any name, and excludes the job of that name in another adapter.
func TestName(t *testing.T) {
	l := distlock.New(memlock.New(), distlock.Config{})
	defer l.Close()
	held, err := l.TryAcquire(t.Context(), jobkey.Of("Daily report"), distlock.Opts{Prefix: "cron:"})
	if err != nil {
		t.Fatal(err)
	}
	var runs int
	logger := new(log)
	job := cronlock.Once(t.Context(), l, distlock.Opts{Prefix: "cron:", Value: "Daily report"}, logger, func(context.Context) error { runs++; return nil })
	job.Run()
	if runs != 0 || logger.skipped.Load() != 1 {
		t.Errorf("it ran %d times beside the other, and was skipped %d times", runs, logger.skipped.Load())
	}
	_ = held.Release(t.Context())
	if job.Run(); runs != 1 || logger.err != nil {
		t.Errorf("it ran %d times, %v", runs, logger.err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a job without a name: no panic")
		}
	}()
	cronlock.Once(t.Context(), l, distlock.Opts{Prefix: "cron:"}, logger, nil)
}
