// Package tusdlock is a [handler.Locker]: of several servers of tusd one works on an
// upload, and it stops when the client resumes the upload elsewhere.
//
//	composer := handler.NewStoreComposer()
//	store.UseIn(composer) // of all servers, such as s3store
//	tusdlock.New(locker, distlock.Opts{Prefix: "upload:"}).UseIn(composer)
//
// With it each request for an upload may go to any server. A client often knows before its
// server that the connection is gone, and resumes. Its new request asks the old one to end,
// wherever that runs, by [admin.Revoke]; tusd then stops reading its body. KeyTimeout is how
// long an upload cannot be resumed after its server crashed: it should be shorter than tusd's
// AcquireLockTimeout, 20 seconds.
//
// # When the lock is lost
//
// The request is ended as if another had asked for it: tusd reads no more of its body.
// What it has read it may still write, because tusd does not pass a token to its store.
package tusdlock

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tus/tusd/v2/pkg/handler"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/examples/jobkey"
)

// askEvery is how often a request asks the holder to end, because a message may be
// lost.
const askEvery = time.Second

// Locker implements [handler.Locker]. It is safe for concurrent use.
type Locker struct {
	locker *distlock.Locker
	opts   distlock.Opts
}

var _ handler.Locker = (*Locker)(nil)

// New returns a Locker. The key of an upload is o.Prefix and what [jobkey.Of] makes of
// its ID. A request waits for tusd's AcquireLockTimeout; o.RetryCount and o.MaxWait do
// not count. New panics if o is invalid. The backend must be a driver.Revoker;
// otherwise a request that finds its upload locked fails with [errors.ErrUnsupported].
func New(l *distlock.Locker, o distlock.Opts) *Locker {
	jobkey.Check(l, o)
	return &Locker{l, o}
}

// UseIn adds l to the composer.
func (l *Locker) UseIn(c *handler.StoreComposer) { c.UseLocker(l) }

// NewLock is called by tusd for each request.
func (l *Locker) NewLock(id string) (handler.Lock, error) {
	return &lock{locker: l, key: jobkey.Of(id)}, nil
}

// lock is the lock of a request.
type lock struct {
	locker *Locker
	key    string
	lease  *distlock.Lease
	stop   func() bool // ends the watch for a loss
}

// Lock waits for the upload, and asks the requests that have it to end. It asks before
// each attempt and not during one, because it could ask itself. If ctx ends during the
// first attempt, the holder is asked all the same, because the client comes again.
func (u *lock) Lock(ctx context.Context, requestUnlock func()) error {
	o := u.locker.opts
	o.RetryCount, o.MaxWait = 1, 0
	for {
		err := u.acquire(ctx, o)
		switch {
		case err == nil:
			u.watch(requestUnlock)
			return nil
		case ctx.Err() == nil && !errors.Is(err, distlock.ErrNotAcquired):
			return err
		}
		asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), askEvery)
		_, err = admin.Revoke(asking, u.locker.locker, o.Prefix+u.key)
		cancel()
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			return err
		case ctx.Err() != nil:
			return handler.ErrLockTimeout
		}
		o.RetryCount, o.MaxWait = 0, askEvery
	}
}

// acquire makes an attempt. tusd ends ctx when Lock returns, and the lock has to last.
func (u *lock) acquire(ctx context.Context, o distlock.Opts) error {
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := context.AfterFunc(ctx, cancel)
	lease, err := u.locker.locker.Acquire(lasting, u.key, o)
	if err != nil {
		cancel()
		return err
	}
	if !ended() {
		return errors.Join(ctx.Err(), lease.Release(lasting))
	}
	u.lease = lease
	return nil
}

// watch calls requestUnlock once, if another request asks for the upload or the lock is
// lost.
func (u *lock) watch(requestUnlock func()) {
	requestUnlock = sync.OnceFunc(requestUnlock)
	u.stop = context.AfterFunc(u.lease.Context(), requestUnlock)
	revoked := u.lease.Revoked() // before Lock returns, or a request could be missed
	go func() {
		select {
		case <-revoked:
			requestUnlock()
		case <-u.lease.Context().Done():
		}
	}()
}

// Unlock is called by tusd when the request has been handled. Without the lock it is an
// error.
func (u *lock) Unlock() error {
	if u.lease == nil {
		return errors.New("tusdlock: Unlock of an upload that is not locked: " + u.key)
	}
	u.stop()
	return u.lease.Release(u.lease.Context())
}
