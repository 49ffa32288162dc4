package distlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/distlock-go/distlock/internal/backoff"
)

// maxSet is the largest number of keys of one AcquireAll: a caller that waits for the last
// of them holds all the others meanwhile.
const maxSet = 1000

// AcquireAll takes the locks with the keys opts.Prefix + key for all keys, 1 to 1,000, or
// none: if one is not acquired, it releases the others before it returns, and MinHold
// does not keep them. A key that is given twice is taken once.
//
// The keys are taken one after the other in the order of the full keys. So two calls never
// wait for each other, unless their callers hold other locks. RetryCount, RetryInterval,
// MaxWait and ctx limit the wait for all keys together; with RetryCount 1 every key is tried
// once, until one is busy. Keys that ctx holds are re-entered. The error is an [*Error] with
// the key that was not acquired. It also matches [ErrLost] if a lease was lost meanwhile.
func (l *Locker) AcquireAll(ctx context.Context, keys []string, opts Opts) (*MultiLease, error) {
	full, err := l.fullKeys(keys, &opts)
	if err != nil {
		key := ""
		if e := new(Error); errors.As(err, &e) {
			key = e.Key
		}
		return nil, l.refuse(ctx, key, &opts, err)
	}
	opts = opts.withDefaults()
	m := &MultiLease{prefix: opts.Prefix, ctx: ctx, leases: make([]*Lease, 0, len(full))}
	var left backoff.Budget
	opts.start(&left)
	all := false
	defer func() { // also if a hook panics
		if !all {
			m.undo(ctx)
		}
	}()
	for _, key := range full {
		s, err := l.acquire(m.ctx, key, &opts, &left, false)
		if err == nil {
			m.leases, m.ctx = append(m.leases, s), &s.ctx
			if s.reentered == nil {
				left = s.budget
			}
			continue
		}
		if lost := m.Check(); lost != nil && ctx.Err() == nil {
			err = l.lostMeanwhile(&opts, key, lost)
		}
		return nil, err
	}
	all = true
	return m, nil
}

// DoAll runs fn under the locks with the keys opts.Prefix + key for all keys, as
// [Locker.Do] does under one: see [Locker.AcquireAll]. The context of fn is that of
// [MultiLease.Context].
func (l *Locker) DoAll(ctx context.Context, keys []string, opts Opts, fn func(ctx context.Context) error) (err error) {
	if fn == nil {
		return l.refuse(ctx, "", &opts, noFunction(""))
	}
	m, err := l.AcquireAll(ctx, keys, opts)
	if err != nil {
		return err
	}
	defer func() { err = join(err, m.Release(m.ctx)) }()
	return fn(m.ctx)
}

// fullKeys checks what AcquireAll is given and returns the full keys, each once,
// in order.
func (l *Locker) fullKeys(keys []string, opts *Opts) ([]string, error) {
	switch {
	case len(keys) == 0:
		return nil, &Error{Op: "options", Err: errors.New("keys is empty")}
	case len(keys) > maxSet:
		return nil, &Error{Op: "options", Err: fmt.Errorf("keys has %d elements, more than %d", len(keys), maxSet)}
	}
	full := make([]string, len(keys))
	for i, key := range keys {
		full[i] = opts.Prefix + key
	}
	if err := l.check(opts, full...); err != nil {
		return nil, err
	}
	slices.Sort(full)
	return slices.Compact(full), nil
}

// lostMeanwhile returns the error for a caller that waited for the key when the lease of
// another key was lost. That ended the wait, but the caller's context goes on, so the error
// must not say that it ended.
func (l *Locker) lostMeanwhile(opts *Opts, key string, lost error) error {
	if l.life.ctx.Err() != nil {
		return opts.notAcquired(key, ErrClosed)
	}
	return opts.notAcquired(key, fmt.Errorf("%w: meanwhile %w", ErrNotAcquired, lost))
}

// MultiLease is several held locks. It is safe for concurrent use.
type MultiLease struct {
	prefix string
	leases []*Lease        // in the order of their keys
	ctx    context.Context //nolint:containedctx // that of the last lease, below those of all others

	release sync.Once
	result  error // of Release
}

// Context returns the context of the acquisition. It carries all leases, and is
// cancelled as soon as one is over, with a cause that wraps [ErrLost] and names the
// key.
func (m *MultiLease) Context() context.Context { return m.ctx }

// Leases returns the leases in the order of their full keys.
func (m *MultiLease) Leases() []*Lease { return slices.Clone(m.leases) }

// Lease returns the lease of a key, given without the prefix as in [Locker.AcquireAll],
// or nil. Each has a [Lease.Token] of its own.
func (m *MultiLease) Lease(key string) *Lease {
	full := m.prefix + key
	for _, s := range m.leases {
		if s.Key() == full {
			return s
		}
	}
	return nil
}

// Check returns nil if all leases are valid; otherwise an error that wraps [ErrLost]
// and names the first key whose lease is not. It does no I/O.
func (m *MultiLease) Check() error {
	for _, s := range m.leases {
		if err := s.Check(); err != nil {
			return err
		}
	}
	return nil
}

// Release releases all leases in reverse order, as [Lease.Release] does, and joins the
// errors. If the store does not answer, it releases the rest at once.
func (m *MultiLease) Release(ctx context.Context) error {
	tell := func() {}
	m.release.Do(func() { tell, m.result = m.endAll(ctx) })
	tell()
	return m.result
}

// endAll does what Release does except for the hooks, which tell calls.
func (m *MultiLease) endAll(ctx context.Context) (tell func(), _ error) {
	first, errs := make([]bool, len(m.leases)), make([]error, len(m.leases))
	var rest sync.WaitGroup
	silent := false
	for i, s := range slices.Backward(m.leases) {
		if silent {
			rest.Go(func() { first[i], errs[i] = s.end(ctx) })
			continue
		}
		first[i], errs[i] = s.end(ctx)
		silent = errors.Is(errs[i], ErrUnavailable)
	}
	rest.Wait()
	tell = func() {
		for i, s := range m.leases {
			if first[i] {
				defer s.tellReleased(errs[i]) //nolint:gocritic // deferred, so that the others are called even if one panics
			}
		}
	}
	var failed []error
	for _, err := range slices.Backward(errs) { // as they came
		if err != nil {
			failed = append(failed, err)
		}
	}
	if failed == nil {
		return tell, nil
	}
	return tell, &joined{failed}
}

// undo releases the locks of an AcquireAll that failed. If a release fails, it is tried
// again in the background.
func (m *MultiLease) undo(ctx context.Context) {
	for _, s := range m.leases {
		s.noMinHold.Store(true)
	}
	_ = m.Release(ctx)
}
