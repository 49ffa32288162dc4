package distlock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Lead takes part in the election of one leader in the fleet, for the key
// o.Prefix + key, and runs fn while this candidate leads: again and again, until
// ctx ends, the Locker is closed, or fn fails. Its error is never nil.
//
// A candidate campaigns as [Locker.Acquire] waits. When it is elected, fn gets a
// context that is cancelled with cause [ErrLost] if the leadership is lost; fn
// should then stop. [FromContext] has the lease in it, whose [Lease.Token] is the
// number of the term: larger than that of every earlier leader, so that what the
// leader writes to can refuse one that was deposed and does not know it.
//
// A term is over when fn returns:
//
//   - nil: the leader resigns. It campaigns again after a pause of two to three
//     times o.RetryInterval, in which any other candidate with the same interval
//     has looked. A leader that wants to stay does not return.
//   - after a loss, nil or an error that the loss explains (it wraps ErrLost or
//     [context.Canceled]): the candidate campaigns again after the same pause.
//   - any other error: Lead resigns and returns it, with what became of the lock
//     joined behind it. It is fn's to decide which errors are worth another try.
//
// [Hooks].Resigned is told of every term, also of errors after which Lead goes
// on. If fn panics or calls [runtime.Goexit] the leader resigns and the panic
// goes on.
//
// While the backend fails Lead goes on trying, with pauses of one to two times
// o.RetryInterval, and so it does after a campaign without success if
// o.RetryCount or o.MaxWait limits each; the default stays in line until elected.
// What trying again cannot mend is returned at once: options or a key that are
// refused, [ErrNoFencing], [ErrUpgrade], ErrLost if ctx comes from a function whose
// lease of the key is over. If ctx ended, the error matches its error and its
// cause; if the Locker was closed, [ErrClosed].
//
// Who only wants to know who leads asks [Locker.Inspect] with the full key: the
// holder listed is the leader, with its token, since when, and the
// [Lease.Fingerprint] that it may have told others.
//
// It is the work of Curator's LeaderSelector with autoRequeue. As there, one
// leader at a time is as sure as the lock is: see the package's guarantees.
func (l *Locker) Lead(ctx context.Context, key string, o Opts, fn func(ctx context.Context) error) error {
	if fn == nil {
		return noFunction(o.Prefix + key)
	}
	interval := max(o.withDefaults().RetryInterval, 1) // options may be refused yet
	for {
		pause := interval + rand.N(interval)
		s, err := l.Acquire(ctx, key, o)
		again := err != nil && passing(err)
		if err == nil {
			again, err = s.term(fn)
			pause += interval
		}
		if !again || !l.sleep(ctx, pause) {
			return l.stopped(ctx, o.Prefix+key, err)
		}
	}
}

// passing reports whether another campaign may have more success than the one
// that ended with err.
func passing(err error) bool {
	return errors.Is(err, ErrNotAcquired) || errors.Is(err, ErrQueueFull) || errors.Is(err, ErrUnavailable)
}

// term runs fn while s leads, and resigns. It reports whether to campaign again;
// if not, the error says why.
func (s *Lease) term(fn func(ctx context.Context) error) (again bool, _ error) {
	fnErr, lockErr := s.serve(fn)
	lost := errors.Is(lockErr, ErrLost)
	explained := lost && (errors.Is(fnErr, ErrLost) || errors.Is(fnErr, context.Canceled))
	if fnErr == nil || explained {
		return true, nil
	}
	return false, join(fnErr, lockErr)
}

// serve is one term: it also resigns if fn does not return.
func (s *Lease) serve(fn func(ctx context.Context) error) (fnErr, lockErr error) {
	defer func() { // also if Released panics
		if h := s.locker.cfg.Hooks.Resigned; h != nil {
			h(&s.ctx, ResignedInfo{
				LockInfo: s.info(), Token: s.token, Held: time.Since(s.since), Err: join(fnErr, lockErr),
			})
		}
	}()
	defer func() { lockErr = s.Release(&s.ctx) }()
	return fn(&s.ctx), nil
}

// stopped is what Lead returns: err, and behind it what ended the candidacy if
// that was not err.
func (l *Locker) stopped(ctx context.Context, key string, err error) error {
	end, cause := ctx.Err(), context.Cause(ctx)
	if l.life.ctx.Err() != nil {
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
