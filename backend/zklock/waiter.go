package zklock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// errSpent ends a wait when its budget is spent.
var errSpent = fmt.Errorf("zklock: no attempt is left: %w", driver.ErrNotAcquired)

// lastLookTimeout limits the time to find the holder of the key when a wait is over: the
// caller may have no time left.
const lastLookTimeout = 100 * time.Millisecond

// waiter is one call of Acquire that waits.
type waiter struct {
	backend *Backend
	ticket  *ticket
	backoff driver.Backoff
	last    obstacle    // what it waited for last
	reason  error       // why it waited; nil if it has not waited
	timer   *time.Timer // when to look without a watch event; nil if it is not set
}

func (w *waiter) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

// wait returns nil when the last obstacle may be gone. A watch event does not count as an
// attempt of the budget: the timer continues.
func (w *waiter) wait(ctx context.Context) error {
	watching, end := context.WithCancel(ctx)
	defer end()
	fired := make(chan error, len(w.last.watch))
	for _, path := range w.last.watch {
		go func() { fired <- w.backend.watches.wait(watching, path) }()
	}
	for {
		if w.timer == nil {
			d, ok := w.backoff.Wait()
			if !ok {
				return errSpent
			}
			w.timer = time.NewTimer(d)
		}
		select {
		case <-ctx.Done():
			return w.backend.link.cause(ctx)
		case <-w.backend.background.ctx.Done():
			return errClosed
		case <-w.ticket.Gone:
			return errGivenUp
		case err := <-fired:
			return err
		case <-w.last.session.ended:
			return nil
		case <-w.timer.C:
			if w.timer = nil; !w.unchanged(ctx) {
				return nil
			}
		}
	}
}

// unchanged reports whether the ticket's node, if it has one, and the one node that it waits
// for still exist. After a timeout this is cheaper than an attempt.
func (w *waiter) unchanged(ctx context.Context) bool {
	if len(w.last.watch) != 1 {
		return false
	}
	link, tk := w.backend.link, w.ticket
	op, end := link.opContext(ctx)
	defer end()
	if !tk.lock(op) {
		return false
	}
	defer tk.unlock()
	if tk.IsGone() || tk.node != w.last.own || w.last.session != link.session() {
		return false
	}
	other := link.stat(w.last.watch[0])
	if tk.node != "" {
		stat, err := link.stat(tk.node).wait(op)
		if err != nil || stat.EphemeralOwner != w.last.session.id {
			return false
		}
	}
	stat, err := other.wait(op)
	return err == nil && stat.Czxid != 0
}

// explain returns the error of Acquire after err. If ctx or the budget ended the wait, the
// error also names the holder.
func (w *waiter) explain(ctx context.Context, err error) error {
	switch {
	case err == nil, errors.Is(err, errGivenUp):
		return err
	case errors.Is(err, errSpent):
		return w.notAcquired(ctx)
	case ctx.Err() == nil:
		return err
	}
	if err = w.backend.link.cause(ctx); !errors.Is(err, ctx.Err()) || w.reason == nil {
		return err
	}
	return fmt.Errorf("%w: %w", w.notAcquired(ctx), ctx.Err())
}

// notAcquired returns why the waiter did not get the key.
func (w *waiter) notAcquired(ctx context.Context) error {
	if errors.Is(w.reason, driver.ErrForeign) {
		return w.reason
	}
	ctx, end := context.WithTimeout(context.WithoutCancel(ctx), min(lastLookTimeout, w.backend.opts.opTimeout))
	defer end()
	// The holder may have changed since the ticket's owner has looked.
	names, _ := w.backend.link.children(w.ticket.parent).wait(ctx)
	q, _ := parseQueue(names)
	if len(q) == 0 || q[0].guid == w.ticket.guid {
		return &driver.HeldError{}
	}
	return w.backend.heldError(ctx, w.ticket.parent+"/"+q[0].name)
}
