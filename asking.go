package distlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/clock"
	"github.com/distlock-go/distlock/internal/leasestate"
)

// hintFloor is the shortest pause before an attempt that a HeldError brought forward: a
// store that keeps saying that the lease ends soon must not be asked all the time.
const hintFloor = 2 * time.Millisecond

// lastLook is how long an attempt that is in progress when MaxWait ends may continue. A
// store that works answers sooner. A silent store must not extend MaxWait to the length of
// its timeouts.
const lastLook = 500 * time.Millisecond

// asking asks the store for an acquisition. No other caller of this process does so for
// the key, except readers and with permits. It makes an attempt, waits for the interval of
// the budget, for the end of the holder's lease or for its turn, and makes the next.
type asking struct {
	engine  *engine
	ctx     context.Context //nolint:containedctx // of the acquisition, for one call
	request driver.Request
	budget  budget        // by value: with a pointer, each acquisition would be on the heap
	once    bool          // there is one attempt, and no wait
	queuer  driver.Queuer // nil: a refused attempt keeps no place

	turn     <-chan driver.Grant // nil: nobody tells when an attempt may succeed
	watching context.Context     //nolint:containedctx // of turn; nil before the first Turn
	unwatch  context.CancelFunc  // ends watching
	left     bool                // something may be left in the store: a grant or a place
	answer   error               // the last of the store: a refusal or a failure
	answered time.Time           // when it came
	told     bool                // the waiters in this process, what the store has answered
}

// grant returns the grant and when it came. What a failure may leave in the store is released
// in the background.
func (q *asking) grant() (driver.Grant, time.Time, error) {
	attempt, end := q.attemptContext()
	defer end()
	defer q.endTurn()
	var g driver.Grant // that came without an attempt
	for {
		var err error
		if g.Owner == "" {
			g, err = q.attempt(attempt)
		}
		now := time.Now()
		if err == nil {
			q.turn, q.answer = nil, nil // even if it is of no use
			err = q.usable(g, now)
		}
		if err == nil {
			q.tell(nil, 0)
			return g, now, nil
		}
		err = q.explain(attempt, err, now)
		pause, again := q.next(err)
		q.tell(err, pause)
		if again {
			g, again = q.wait(pause, errors.Is(err, ErrNotAcquired))
		}
		if !again {
			return driver.Grant{}, now, q.refuse(err)
		}
	}
}

// attemptContext returns the context of all attempts. MaxWait ends it a little late; the
// function never sees it.
func (q *asking) attemptContext() (context.Context, context.CancelFunc) {
	if q.budget.until.IsZero() {
		return q.ctx, func() {}
	}
	return context.WithDeadline(q.ctx, q.budget.until.Add(lastLook))
}

func (q *asking) attempt(ctx context.Context) (g driver.Grant, err error) {
	if q.queuer != nil {
		g, err = q.queuer.Enqueue(ctx, q.request)
	} else {
		g, err = q.engine.backend.TryAcquire(ctx, q.request)
	}
	if (q.queuer != nil || !errors.Is(err, ErrNotAcquired)) && !errors.Is(err, driver.ErrNotSent) {
		q.left = true
	}
	return g, err
}

// usable returns an error if a grant came too late, or to a caller that has gone.
func (q *asking) usable(g driver.Grant, now time.Time) error {
	if clock.Elapsed(leasestate.Start(g), now) >= clock.SafeTTL(g.TTL) {
		return errLate
	}
	if q.ctx.Err() != nil || q.engine.life.ctx.Err() != nil {
		return ErrNotAcquired
	}
	return nil
}

// explain returns what an attempt with ctx that failed with err says about the store. An attempt
// that was cut short does not hide the answer before it. But silence of the store at the end of
// MaxWait, which gave it time, is told even after a refusal.
func (q *asking) explain(ctx context.Context, err error, now time.Time) error {
	answered := ctx.Err() == nil || errors.Is(err, ErrNotAcquired) || errors.Is(err, ErrLost)
	if q.answer != nil && !answered && (q.ctx.Err() != nil || !errors.Is(q.answer, ErrNotAcquired)) {
		return q.answer
	}
	q.answer, q.answered = err, now
	return err
}

// next returns how long to pause after a failed attempt, and false if there is no other
// attempt. To repeat what the backend cannot do helps nobody.
func (q *asking) next(err error) (time.Duration, bool) {
	if q.ctx.Err() != nil || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, ErrLost) {
		return 0, false
	}
	d, ok := q.budget.wait()
	if held := new(HeldError); ok && errors.As(err, &held) && held.RetryAfter > 0 {
		d = min(d, max(held.RetryAfter, hintFloor))
	}
	return d, ok
}

// tell tells the waiters in this process what the store answered to the last attempt, or
// nothing if it granted the key. The next attempt begins after the pause at the latest. A
// caller that does not wait says nothing: the next one asks at once.
func (q *asking) tell(err error, pause time.Duration) {
	const attempt = 2 * time.Second
	if q.once || err == nil && !q.told || err != nil && q.ctx.Err() != nil {
		return
	}
	q.told = true
	q.engine.queue.SetBackendErr(q.request.Key, err, time.Now().Add(pause+attempt))
}

// wait waits for the pause, or for the caller's turn, which may bring the grant. It returns
// false if the acquisition is over. After a refusal it asks to be told of the turn.
func (q *asking) wait(pause time.Duration, refused bool) (g driver.Grant, again bool) {
	if w := q.engine.waker; refused && w != nil && q.turn == nil {
		if q.watching == nil {
			q.watching, q.unwatch = context.WithCancel(q.ctx)
		}
		q.turn = w.Turn(q.watching, q.request)
	}
	select {
	case g, open := <-q.turn:
		if !open || g.Owner != "" { // a grant ends the watch, too
			q.turn = nil
		}
		if g.Sent.Before(q.answered) { // the refusal came later: the grant is over
			g = driver.Grant{}
		}
		return g, true
	case <-time.After(pause):
		return driver.Grant{}, true
	case <-q.ctx.Done():
	case <-q.engine.life.ctx.Done():
	}
	return driver.Grant{}, false
}

func (q *asking) endTurn() {
	if q.unwatch != nil {
		q.unwatch()
	}
}

// refuse gives up what may be left in the store, and returns the error of an acquisition
// whose last attempt has ended with err.
func (q *asking) refuse(err error) error {
	if q.left {
		q.engine.releaser.settleLater(q.request.Grant(), time.Time{})
	}
	if held := new(HeldError); errors.As(err, &held) && !errors.Is(err, ErrForeign) {
		err = q.engine.markLocal(q.request.Key, aged(held, time.Since(q.answered)))
	}
	switch {
	case q.request.From != "" && errors.Is(err, ErrLost):
		return errHandle
	case q.engine.life.ctx.Err() != nil:
		err = ErrClosed
	case q.ctx.Err() != nil:
		err = cutShort(endOf(q.ctx), err)
	default:
		err = spent(&q.budget, err)
	}
	if q.request.From != "" && q.left {
		err = fmt.Errorf("it is in doubt whether the handle is used up: %w", err)
	}
	return err
}
