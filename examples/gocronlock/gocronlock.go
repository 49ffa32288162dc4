// Package gocronlock is a [gocron.Locker]: the jobs of gocron run once in all
// processes.
//
//	locker := gocronlock.New(l, distlock.Opts{Prefix: "cron:", MinHold: time.Minute})
//	s, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker))
//	_, err = s.NewJob(every, gocron.NewTask(locker.Task("report", report)), gocron.WithName("report"))
//
// Of several processes with the same scheduler, one runs a job, and gocron counts the
// others as skipped. MinHold is longer than the starts differ, and shorter than the period.
// After a crash or a loss another process may run the job again.
//
// # When the lock is lost
//
// gocron does not pass anything from its Locker to the job, so a plain task is not
// told. The context of a [Locker.Task] is cancelled, with cause [distlock.ErrLost], and
// its error is an ErrLost.
package gocronlock

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/go-co-op/gocron/v2"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/examples/jobkey"
)

// Locker implements [gocron.Locker]. It is safe for concurrent use.
type Locker struct {
	locker *distlock.Locker
	opts   distlock.Opts

	mu   sync.Mutex
	held map[string]*distlock.Lease // by the name of the job
}

var _ gocron.Locker = (*Locker)(nil)

// New returns a Locker. The key of a job is o.Prefix and what [jobkey.Of] makes of its
// name; hooks and metrics see the name itself, or o.Value. A job does not wait for its
// key, so o.RetryCount is set to 1. New panics if o is invalid.
func New(l *distlock.Locker, o distlock.Opts) *Locker {
	o.RetryCount = 1
	jobkey.Check(l, o)
	return &Locker{locker: l, opts: o, held: make(map[string]*distlock.Lease)}
}

// Lock is called by gocron before it runs a job. The error is [distlock.ErrNotAcquired]
// if another process runs it; an option of the job, [gocron.AfterLockError], is told.
func (l *Locker) Lock(ctx context.Context, name string) (gocron.Lock, error) {
	// When the scheduler shuts down it ends ctx, and the lock has to last until the job
	// has returned.
	o := l.opts
	o.Value = cmp.Or(o.Value, name)
	lease, err := l.locker.Acquire(context.WithoutCancel(ctx), jobkey.Of(name), o)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[name] = lease
	return &lock{l, name, lease}, nil
}

// lock is the lock of a job that runs.
type lock struct {
	locker *Locker
	name   string
	lease  *distlock.Lease
}

// Unlock is called by gocron when the job has returned.
func (u *lock) Unlock(ctx context.Context) error {
	u.locker.mu.Lock()
	if u.locker.held[u.name] == u.lease {
		delete(u.locker.held, u.name)
	}
	u.locker.mu.Unlock()
	return u.lease.Release(ctx)
}

var errNotLocked = errors.New("gocronlock: the job has no lock: it has another name than its task, or the scheduler has another Locker")

// Task returns the function for [gocron.NewTask] of the job with that name. It runs fn
// with a context that ends when the lock is lost, and when gocron ends the job. In the
// context is the lease.
func (l *Locker) Task(name string, fn func(context.Context) error) func(context.Context) error {
	return func(job context.Context) error {
		l.mu.Lock()
		lease := l.held[name]
		l.mu.Unlock()
		if lease == nil {
			return errNotLocked
		}
		ctx, cancel := context.WithCancelCause(lease.Context())
		defer cancel(nil)
		stop := context.AfterFunc(job, func() { cancel(context.Cause(job)) })
		defer stop()
		err := fn(ctx)
		if lost := lease.Check(); lost != nil && !errors.Is(err, lost) {
			err = errors.Join(err, lost)
		}
		return err
	}
}
