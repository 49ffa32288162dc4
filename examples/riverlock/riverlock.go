// Package riverlock is a middleware of River: jobs about one thing, such as a customer, do
// not overlap, whatever their kinds and queues.
//
//	lock := riverlock.Exclusive(locker, distlock.Opts{Prefix: "shop:", Value: "customer"}, customer)
//	client, err := river.NewClient(driver, &river.Config{Middleware: []rivertype.Middleware{lock}})
//
// River needs no lock for periodic jobs, because its clients elect a leader.
package riverlock

import (
	"context"
	"encoding/json"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/wiring"
)

// snooze is when a job whose lock is busy is tried again.
const snooze = time.Second

// Exclusive returns a middleware for jobs that run under the lock of what key returns;
// [distlock.Skip] is for a job without one. A job that finds its lock busy is snoozed, which
// is not one of its attempts. With o.MaxWait it waits before, and occupies a worker. If the
// lock is lost, the context of the job is cancelled, and its error wraps
// [distlock.ErrLost]: River repeats it, as after a crash. A worker whose job must not be
// repeated returns [river.JobCancel]. Exclusive panics if o is invalid.
func Exclusive(l *distlock.Locker, o distlock.Opts, key func(args json.RawMessage) (any, error)) rivertype.Middleware {
	o.ParamLock = true
	if o.MaxWait == 0 {
		o.RetryCount = 1
	}
	site := wiring.Bind(l, o)
	return river.WorkerMiddlewareFunc(func(ctx context.Context, job *rivertype.JobRow, work func(context.Context) error) error {
		params, err := key(job.EncodedArgs)
		if err != nil {
			return err
		}
		err = site.Do(ctx, params, work)
		if !distlock.Ran(err) && distlock.CodeOf(err) == distlock.CodeNotAcquired && ctx.Err() == nil {
			return river.JobSnooze(snooze)
		}
		return err
	})
}
