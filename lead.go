package distlock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
)

// Lead takes part in the election of one leader for the key opts.Prefix + key, and runs fn
// while this candidate leads. It does so again and again, until ctx ends, the Locker is
// closed, or fn fails. Its error is never nil.
//
// A candidate waits as in [Locker.Acquire]. The context of fn carries the lease, and is
// cancelled with cause [ErrLost] if the leadership is lost; fn should then stop. The
// [Lease.Token] is the number of the term and larger than any earlier one.
//
// If fn returns nil, or after a loss an error that wraps ErrLost or [context.Canceled],
// the candidate campaigns again after two to three times RetryInterval. So every other
// candidate with the same interval gets a turn. A leader that wants to stay does not
// return. If fn fails, Lead resigns and returns its error. The loss of a lease is joined
// behind it. If fn panics or calls [runtime.Goexit], the leader resigns.
//
// If the store fails, the queue in the process is full, or RetryCount or MaxWait ends the
// wait, Lead tries again after one to two times RetryInterval. It returns an error that another
// attempt cannot mend: refused options or key, [ErrNoFencing], [ErrUpgrade],
// [ErrReentry], [ErrClosed], the error of ctx with its cause, or ErrLost below a function
// whose lease of the key is over.
func (locker *Locker) Lead(ctx context.Context, key string, opts Opts, fn func(ctx context.Context) error) error {
	if fn == nil {
		return locker.refuse(ctx, opts.Prefix+key, &opts, noFunction(opts.Prefix+key))
	}
	interval := max(opts.withDefaults().RetryInterval, 1) // options may be refused yet
	led := false
	for {
		pause := interval + rand.N(interval)
		lease, err := locker.acquireAs(ctx, key, opts, true)
		again := errors.Is(err, ErrNotAcquired) || errors.Is(err, ErrQueueFull) ||
			errors.Is(err, ErrUnavailable) && !errors.Is(err, errors.ErrUnsupported)
		if err == nil {
			led = true
			again, err = lease.term(fn)
			pause += interval
		}
		if !again || !locker.life.sleep(ctx, pause) {
			if err = locker.stopped(ctx, opts.Prefix+key, err); led {
				err = hasRun(err)
			}
			return err
		}
	}
}

// term runs fn while the lease leads, and resigns. It reports whether to campaign again. If not,
// it returns the error of Lead.
func (lease *Lease) term(fn func(ctx context.Context) error) (again bool, _ error) {
	fnErr, lockErr := lease.serve(fn)
	lost := errors.Is(lockErr, ErrLost)
	explained := lost && (errors.Is(fnErr, ErrLost) || errors.Is(fnErr, context.Canceled))
	if fnErr == nil || explained {
		return true, nil
	}
	return false, hasRun(fnErr, lease.loss(fnErr, lockErr))
}

// serve runs fn for one term, and resigns when fn returns, panics or exits.
func (lease *Lease) serve(fn func(ctx context.Context) error) (fnErr, lockErr error) {
	lease.leads = true
	defer func() { lockErr = lease.Release(&lease.ctx) }()
	return fn(&lease.ctx), nil
}

// stopped returns the error of Lead: err, and joined behind it what ended the campaign, if
// that is not err.
func (locker *Locker) stopped(ctx context.Context, key string, err error) error {
	end, cause := ctx.Err(), context.Cause(ctx)
	if locker.life.ctx.Err() != nil {
		end, cause = ErrClosed, ErrClosed
	}
	if end == nil || errors.Is(err, end) && errors.Is(err, cause) {
		return err
	}
	if !errors.Is(cause, end) {
		end = fmt.Errorf("%w: %w", end, cause)
	}
	return join(err, &Error{Op: "lead", Key: key, Err: end})
}
