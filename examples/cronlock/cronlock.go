// Package cronlock runs the jobs of robfig/cron once in all processes.
//
//	o := distlock.Opts{Prefix: "cron:", Value: "report", MinHold: time.Minute}
//	crontab.AddJob("0 3 * * *", cronlock.Once(ctx, locker, o, cron.DefaultLogger, report))
//
// Of several processes with the same cron, one runs a job, and the others skip it. MinHold is
// longer than their clocks differ, and shorter than the period. After a crash or a loss
// another process may run the job again.
//
// # When the lock is lost
//
// The job's context is cancelled, with cause [distlock.ErrLost]. A [cron.Job] has no
// context: with [Skip] such a job goes on, so use [Once] for jobs that run for longer
// than the lease may be in doubt.
package cronlock

import (
	"context"

	"github.com/robfig/cron/v3"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/examples/jobkey"
)

// Once returns a job that runs fn if no other process runs it. o.Value is the name of
// the job, and the key o.Prefix and what [jobkey.Of] makes of it. The job does not wait
// for the key, so o.RetryCount is set to 1. The context of fn is a child of ctx, and is
// cancelled when the lock is lost. The logger gets errors, and at the level Info that
// the job was skipped. Once panics if o is invalid.
func Once(ctx context.Context, l *distlock.Locker, o distlock.Opts, logger cron.Logger, fn func(context.Context) error) cron.Job {
	o.RetryCount = 1
	jobkey.Check(l, o)
	if o.Value == "" {
		panic("cronlock: Once: Opts.Value is empty: it is the name of the job")
	}
	name := o.Prefix + o.Value
	return cron.FuncJob(func() {
		err := l.Do(ctx, jobkey.Of(o.Value), o, fn)
		switch {
		case err == nil:
		case !distlock.Ran(err) && distlock.CodeOf(err) == distlock.CodeNotAcquired:
			logger.Info("skip", "job", name, "because", err.Error())
		default:
			logger.Error(err, "job failed", "job", name)
		}
	})
}

// Skip returns a wrapper for jobs that take no context, such as the functions of
// [cron.Cron.AddFunc]. It is [Once] otherwise. Each job needs a wrapper of its own,
// because o has its key.
func Skip(ctx context.Context, l *distlock.Locker, o distlock.Opts, logger cron.Logger) cron.JobWrapper {
	return func(j cron.Job) cron.Job {
		return Once(ctx, l, o, logger, func(context.Context) error {
			j.Run()
			return nil
		})
	}
}
