package distlock

import (
	"errors"
	"fmt"
	"time"

	"github.com/distlock-go/distlock/internal/localqueue"
)

// The errors of an acquisition that ends without the lock.

// errLate says that the reply to an attempt or to a release came after the lease would have ended.
var errLate = errors.New("the reply came later than the lease would have lasted")

// errCarried refuses a caller that would wait for its own caller.
var errCarried = fmt.Errorf("%w, in the process that sent this call: run under its ticket, see fence.FromContext", ErrReentry)

// queueErr returns the error for a caller that may not wait in the queue.
func (eng *engine) queueErr(key string, err error) error {
	switch {
	case errors.Is(err, localqueue.ErrBusy):
		return eng.busyErr(key)
	case errors.Is(err, localqueue.ErrClosed):
		return ErrClosed
	default:
		return fmt.Errorf("%w: %v", ErrQueueFull, err) //nolint:errorlint // its type is not for the caller
	}
}

// busyErr returns the error for a caller that gives up in the queue. It names the holder in
// this process or, if there is none, contains what the store last answered to the caller
// that asks it.
func (eng *engine) busyErr(key string) error {
	s := eng.leases.holder(key)
	if s == nil {
		return eng.backendErr(key)
	}
	now := time.Now()
	held := &HeldError{Local: true, Holder: eng.cfg.Holder, Held: now.Sub(s.assigned.Since), Over: s.lingers(now)}
	if end, renewable := s.state.Until(); !renewable {
		held.RetryAfter = max(end.Sub(now), 0)
	}
	return held
}

// markLocal marks a HeldError of the store as local if its holder belongs to this Locker.
func (eng *engine) markLocal(key string, held *HeldError) *HeldError {
	held.Local = held.Holder != "" && held.Holder == eng.cfg.Holder && eng.leases.holder(key) != nil
	return held
}

// backendErr returns the error for a waiter that gives up while no holder in this process
// has the key: what the store last answered to the caller that asks it.
func (eng *engine) backendErr(key string) error {
	age, err := eng.queue.BackendErr(key, time.Now())
	held := new(HeldError)
	switch {
	case err == nil:
		return held
	case errors.As(err, &held):
		return aged(held, age)
	case errors.Is(err, ErrNotAcquired):
		return err
	default:
		return unavailable(err)
	}
}

// aged returns e as it is after d has passed.
func aged(e *HeldError, d time.Duration) *HeldError {
	old := *e
	if old.Held > 0 {
		old.Held += d
	}
	old.RetryAfter = max(old.RetryAfter-d, 0)
	return &old
}

// cutShort returns the error for the end of the wait. It also contains the result of
// the last attempt: the holder of the key, or how the backend failed.
func cutShort(end, last error) error {
	why := ErrNotAcquired
	if held := new(HeldError); errors.As(last, &held) {
		why = held
	} else if errors.Is(last, ErrForeign) {
		why = storeError{last}
	}
	err := fmt.Errorf("%w: %w", why, end)
	if last != nil && !errors.Is(last, ErrNotAcquired) {
		err = fmt.Errorf("%w: %w", err, unavailable(last))
	}
	return err
}

// spent returns the error for a wait that the budget ended. The last attempt failed with err.
func spent(b *budget, err error) error {
	switch {
	case b.over(time.Now()):
		return cutShort(fmt.Errorf("waited for MaxWait, %v", b.maxWait), err)
	case errors.Is(err, ErrNotAcquired):
		return err
	default:
		return unavailable(err)
	}
}
