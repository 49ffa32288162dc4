package distlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// maxSet is the largest number of keys of one DoAll: a caller that waits for the last of
// them holds all the others meanwhile.
const maxSet = 1000

// DoAll runs fn under the locks with the keys opts.Prefix + key for all keys, 1 to 1,000, as
// [Locker.Do] does under one. If one is not acquired, fn does not run, the others are
// released before DoAll returns, and MinHold does not keep them. A key that is given twice is
// taken once.
//
// The context of fn carries all leases: [Held] returns the lease of a full key, with its
// own [Lease.Token]. It is cancelled as soon as one is over, with a cause that wraps [ErrLost]
// and names the key.
//
// The keys are taken one after the other in the order of the full keys. So two calls never
// wait for each other, unless their callers hold other locks. RetryCount, RetryInterval,
// MaxWait and ctx limit the wait for all keys together; with RetryCount 1 every key is tried
// once, until one is busy. Keys that ctx holds are re-entered. The error is an [*Error] with
// the key that was not acquired. It also matches ErrLost if a lease was lost meanwhile.
func (locker *Locker) DoAll(ctx context.Context, keys []string, opts Opts, fn func(ctx context.Context) error) (err error) {
	if fn == nil {
		return locker.refuse(ctx, "", &opts, noFunction(""))
	}
	full, err := locker.fullKeys(keys, &opts)
	if err != nil {
		key := ""
		if e := new(Error); errors.As(err, &e) {
			key = e.Key
		}
		return locker.refuse(ctx, key, &opts, err)
	}
	opts = opts.withDefaults()
	set := make(leaseSet, 0, len(full))
	all := false
	defer func() { // also if a hook panics
		if !all {
			set.undo()
		}
	}()
	inner := ctx
	var left budget
	opts.start(&left)
	for _, key := range full {
		a := acquisition{engine: &locker.engine, ctx: inner, key: key, opts: opts, budget: left}
		lease, err := a.run()
		if err == nil {
			set, inner, left = append(set, lease), &lease.ctx, a.budget
			continue
		}
		if lost := set.lost(); lost != nil && ctx.Err() == nil {
			err = locker.lostMeanwhile(&opts, key, lost)
		}
		return err
	}
	all = true
	defer set.finish(&err)
	return fn(inner)
}

// fullKeys checks what DoAll is given and returns the full keys, each once, in order.
func (locker *Locker) fullKeys(keys []string, opts *Opts) ([]string, error) {
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
	if err := locker.check(opts, full...); err != nil {
		return nil, err
	}
	slices.Sort(full)
	return slices.Compact(full), nil
}

// lostMeanwhile returns the error for a caller that waited for the key when the lease of
// another key was lost. That ended the wait, but the caller's context goes on, so the error
// must not say that it ended.
func (locker *Locker) lostMeanwhile(opts *Opts, key string, lost error) error {
	if locker.life.ctx.Err() != nil {
		return opts.notAcquired(key, ErrClosed)
	}
	return opts.notAcquired(key, fmt.Errorf("%w: meanwhile %w", ErrNotAcquired, lost))
}

// leaseSet is the leases of one DoAll, in the order of their keys. The context of each is
// below the context of its predecessor.
type leaseSet []*Lease

// lost returns why the first lease that is over is so, or nil.
func (all leaseSet) lost() error {
	for _, lease := range all {
		if err := lease.Check(); err != nil {
			return err
		}
	}
	return nil
}

// finish is Lease.finish for several: it releases them in reverse order.
func (all leaseSet) finish(err *error) {
	errs, tell := all.end()
	defer tell()
	behind := make([]error, 0, len(all))
	for i, lease := range slices.Backward(all) {
		behind = append(behind, lease.loss(*err, errs[i]))
	}
	*err = hasRun(*err, behind...)
}

// end releases the leases except for the hooks, which tell calls. If the store does not
// answer, it releases the rest at once.
func (all leaseSet) end() (errs []error, tell func()) {
	first, errs := make([]bool, len(all)), make([]error, len(all))
	var rest sync.WaitGroup
	silent, left := false, len(all)
	defer func() {
		if left > 0 { // a panic of the caller's context, or of the backend
			all[:left].end()
		}
	}()
	for i, lease := range slices.Backward(all) {
		if left = i; silent {
			rest.Go(func() { first[i], errs[i] = lease.end(&lease.ctx) })
			continue
		}
		first[i], errs[i] = lease.end(&lease.ctx)
		silent = errors.Is(errs[i], ErrUnavailable)
	}
	rest.Wait()
	return errs, func() {
		for i, lease := range all {
			if first[i] {
				defer lease.tellReleased(errs[i]) //nolint:gocritic // deferred, so that the others are called even if one panics
			}
		}
	}
}

// undo releases the locks of a DoAll that got only some. If a release fails, it is tried
// again in the background.
func (all leaseSet) undo() {
	for _, lease := range all {
		lease.noMinHold.Store(true)
	}
	_, tell := all.end()
	tell()
}
