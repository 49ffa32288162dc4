// Package gooselock is a [lock.Locker] of goose: of several processes one migrates the
// database, and the others wait and find nothing to do.
//
//	locker := gooselock.New(l, "orders", distlock.Opts{Prefix: "migrate:"})
//	p, err := goose.NewProvider(goose.DialectSQLite3, db, migrations, goose.WithLocker(locker))
//	err = locker.Do(ctx, func(ctx context.Context) error { _, err := p.Up(ctx); return err })
//
// For PostgreSQL and MySQL take goose's own lockers, which need no other store. This one is
// for other databases, and for one lock around the migrations of several.
//
// # When the lock is lost
//
// goose passes nothing from its Locker to the migrations, so they go on, and the error
// of Up is a [distlock.ErrLost]. Below [Locker.Do] their context is cancelled, and one
// in a transaction is rolled back. A migration without a transaction must bear being
// repeated, as after a crash. While it runs, the lock is renewed: KeyTimeout can be
// short.
package gooselock

import (
	"context"
	"database/sql"
	"errors"

	"github.com/pressly/goose/v3/lock"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/wiring"
)

// Locker implements [lock.Locker]. It is safe for concurrent use.
type Locker struct {
	locker *distlock.Locker
	key    string
	opts   distlock.Opts
	lease  *distlock.Lease // of the caller that has the lock
}

var _ lock.Locker = (*Locker)(nil)

// New returns a Locker with the key o.Prefix + key. It waits until the lock is free;
// o.MaxWait limits that. New panics if o or the key is invalid.
func New(l *distlock.Locker, key string, o distlock.Opts) *Locker {
	o.Value, o.Reentry = key, distlock.ReentryOne
	wiring.Bind(l, o)
	return &Locker{locker: l, key: key, opts: o}
}

// Do runs fn under the lock, with a context that ends when it is lost. goose, called
// with that context, does not wait for the lock a second time.
func (l *Locker) Do(ctx context.Context, fn func(ctx context.Context) error) error {
	return l.locker.Do(ctx, l.key, l.opts, fn)
}

// Lock is called by goose before it looks which migrations are due.
func (l *Locker) Lock(ctx context.Context, _ *sql.DB) error {
	lease, err := l.locker.Acquire(ctx, l.key, l.opts)
	if err == nil {
		l.lease = lease // one at a time has it
	}
	return err
}

// Unlock is called by goose when the migrations have ended. Without the lock it is an error.
func (l *Locker) Unlock(ctx context.Context, _ *sql.DB) error {
	if l.lease == nil {
		return errors.New("gooselock: Unlock of what is not locked: " + l.key)
	}
	return l.lease.Release(ctx)
}
