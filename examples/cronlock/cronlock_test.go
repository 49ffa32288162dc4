package cronlock_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/examples/cronlock"
	"github.com/distlock-go/distlock/internal/test/adaptertest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// log is what a job reports.
type log struct {
	skipped atomic.Int32
	err     error
}

func (l *log) Info(string, ...any)                 { l.skipped.Add(1) }
func (l *log) Error(err error, _ string, _ ...any) { l.err = err }

func (l *log) result() error {
	if l.skipped.Load() > 0 {
		return distlock.ErrNotAcquired
	}
	return l.err
}

var adapters = []adaptertest.Adapter{
	{Name: "Once", Key: "app:Daily%20report", Skips: true, Open: func(l *distlock.Locker, o distlock.Opts) adaptertest.Run {
		o.Value = "Daily report"
		return func(ctx context.Context, job adaptertest.Job) error {
			logger := new(log)
			cronlock.Once(ctx, l, o, logger, job).Run()
			return logger.result()
		}
	}},
	{Name: "Skip", Key: "app:report", Skips: true, Untold: true, Open: func(l *distlock.Locker, o distlock.Opts) adaptertest.Run {
		o.Value = "report"
		return func(ctx context.Context, job adaptertest.Job) (err error) {
			logger := new(log)
			wrapper := cronlock.Skip(ctx, l, o, logger)
			wrapper(cron.FuncJob(func() { err = job(ctx) })).Run()
			return errors.Join(err, logger.result())
		}
	}},
}

func TestMain(m *testing.M) { adaptertest.Main(m, adapters...) }

func TestAdapter(t *testing.T) { adaptertest.Test(t, adapters...) }

// TestOncePerPeriod runs a quick job in three processes for five periods, with clocks
// that differ by a second.
func TestOncePerPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, logger := memlock.New(), new(log)
		var runs atomic.Int32
		for range 3 {
			l := testkit.NewLocker(t, store, distlock.Config{})
			crontab := cron.New()
			o := distlock.Opts{Value: "report", MinHold: 10 * time.Second}
			job := cronlock.Once(t.Context(), l, o, logger, func(context.Context) error { runs.Add(1); return nil })
			if _, err := crontab.AddJob("* * * * *", job); err != nil {
				t.Fatal(err)
			}
			crontab.Start()
			t.Cleanup(func() { crontab.Stop() })
			time.Sleep(time.Second)
		}
		start := time.Now()
		time.Sleep(start.Truncate(time.Minute).Add(5*time.Minute + 30*time.Second).Sub(start))
		if runs.Load() != 5 || logger.skipped.Load() != 10 || logger.err != nil {
			t.Errorf("in 5 periods the job ran %d times, skipped %d, %v", runs.Load(), logger.skipped.Load(), logger.err)
		}
	})
}

// TestName: a job without a name is refused when the program starts.
func TestName(t *testing.T) {
	l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
	testkit.WantPanic(t, "cronlock: Once: Opts.Value is empty: it is the name of the job", func() {
		cronlock.Once(t.Context(), l, distlock.Opts{Prefix: "cron:"}, new(log), nil)
	})
}
