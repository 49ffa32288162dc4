// Package certmagiclock gives a [certmagic.Storage] other locks: of several servers
// with one storage, such as several Caddys, one orders a certificate, and the others
// load it.
//
//	storage := certmagiclock.Wrap(&certmagic.FileStorage{Path: shared}, l, distlock.Opts{Prefix: "certmagic:"})
//	config := certmagic.New(cache, certmagic.Config{Storage: storage})
//
// Some storages do nothing on Lock, and [certmagic.FileStorage] may let two servers in after a
// crash. With these locks the next server orders the certificate KeyTimeout after the crash.
//
// # When the lock is lost
//
// certmagic passes nothing from its lock to an order, so one that runs ends as it would
// have. Before each further attempt certmagic asks for more time, with RenewLockLease:
// a lock that was lost is then taken anew, and certmagic looks first whether the
// certificate is there. At worst two servers order one certificate, and the last one
// that is stored counts.
package certmagiclock

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/caddyserver/certmagic"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/examples/jobkey"
)

// Storage is a [certmagic.Storage] with locks of its own. It is safe for concurrent
// use.
type Storage struct {
	certmagic.Storage

	locker *distlock.Locker
	opts   distlock.Opts

	mu   sync.Mutex
	held map[string]*distlock.Lease // by the name of the lock
}

var (
	_ certmagic.Storage          = (*Storage)(nil)
	_ certmagic.TryLocker        = (*Storage)(nil)
	_ certmagic.LockLeaseRenewer = (*Storage)(nil)
)

// Wrap returns a Storage. The key of a lock is o.Prefix and what [jobkey.Of] makes of
// its name. Lock waits until its context ends, or for o.MaxWait. Wrap panics if o is
// invalid.
func Wrap(storage certmagic.Storage, l *distlock.Locker, o distlock.Opts) *Storage {
	jobkey.Check(l, o)
	return &Storage{Storage: storage, locker: l, opts: o, held: make(map[string]*distlock.Lease)}
}

// Lock implements [certmagic.Locker].
func (s *Storage) Lock(ctx context.Context, name string) error { return s.lock(ctx, name, s.opts) }

// TryLock implements [certmagic.TryLocker]: it does not wait.
func (s *Storage) TryLock(ctx context.Context, name string) (bool, error) {
	o := s.opts
	o.RetryCount = 1
	err := s.lock(ctx, name, o)
	if distlock.CodeOf(err) == distlock.CodeNotAcquired && ctx.Err() == nil {
		return false, nil
	}
	return err == nil, err
}

func (s *Storage) lock(ctx context.Context, name string, o distlock.Opts) error {
	lease, err := s.locker.Acquire(ctx, jobkey.Of(name), o)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[name] = lease
	return nil
}

// RenewLockLease implements [certmagic.LockLeaseRenewer]. A lock is renewed without it;
// one that was lost is taken anew, for which it waits.
func (s *Storage) RenewLockLease(ctx context.Context, name string, _ time.Duration) error {
	s.mu.Lock()
	lease := s.held[name]
	s.mu.Unlock()
	if lease != nil && lease.Check() == nil {
		return nil
	}
	_ = s.Unlock(ctx, name) // it was lost, and another caller of this process may wait
	return s.Lock(ctx, name)
}

// Unlock implements [certmagic.Locker]. The error is a [distlock.ErrLost] if the lock
// was lost.
func (s *Storage) Unlock(ctx context.Context, name string) error {
	s.mu.Lock()
	lease := s.held[name]
	delete(s.held, name)
	s.mu.Unlock()
	if lease == nil {
		return fmt.Errorf("certmagiclock: %q is not locked", name)
	}
	return lease.Release(ctx)
}
