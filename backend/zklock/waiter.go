package zklock

import (
	"context"
	"errors"
	"fmt"
	"reflect"
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
	backend  *Backend
	ticket   *ticket
	backoff  driver.Backoff
	last     obstacle    // what it waited for last
	reason   error       // why it waited; nil if it has not waited
	timer    *time.Timer // when to look without a watch event; nil if it is not set
	timedOut bool        // the timer ended the last sleep
}

func (w *waiter) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

// wait returns nil when the last obstacle may be gone.
func (w *waiter) wait(ctx context.Context) error {
	for {
		if err := w.sleep(ctx); err != nil || !w.timedOut || !w.unchanged(ctx) {
			return err
		}
	}
}

// sleep returns nil after a watch event or when it is time to look. A watch event does not
// count as an attempt of the budget: the timer continues.
func (w *waiter) sleep(ctx context.Context) error {
	if w.timer == nil || w.timedOut {
		d, ok := w.backoff.Wait()
		if !ok {
			return errSpent
		}
		w.stop()
		w.timer, w.timedOut = time.NewTimer(d), false
	}
	watching, end := context.WithCancel(ctx)
	defer end()
	fired, err := w.watch(watching)
	if err != nil || fired == nil {
		return err
	}
	select {
	case <-ctx.Done():
		return w.backend.link.cause(ctx)
	case <-w.backend.background.ctx.Done():
		return errClosed
	case <-w.ticket.gone:
		return errGivenUp
	case <-fired:
		return nil
	case <-w.last.session.ended:
		return nil
	case <-w.timer.C:
		w.timedOut = true
		return nil
	}
}

// watch returns a channel that is closed when one of the nodes to wait for is deleted or
// changed. It is nil if one of them does not exist.
func (w *waiter) watch(ctx context.Context) (<-chan struct{}, error) {
	op, end := w.backend.link.opContext(ctx)
	defer end()
	channels := make([]<-chan struct{}, len(w.last.watch))
	for i, path := range w.last.watch {
		one, err := w.backend.watches.add(op, path)
		if err != nil {
			return nil, err
		}
		if one == nil {
			return nil, nil //nolint:nilnil // as watches.add does
		}
		channels[i] = one.fired
	}
	if len(channels) == 1 {
		return channels[0], nil
	}
	return anyOf(ctx, channels), nil
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
	if tk.isGone() || tk.node != w.last.own || w.last.session != link.session() {
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

// anyOf returns a channel that is closed when one of the channels is closed or ctx ends.
func anyOf(ctx context.Context, channels []<-chan struct{}) <-chan struct{} {
	cases := make([]reflect.SelectCase, 0, len(channels)+1)
	for _, c := range append(channels, ctx.Done()) {
		cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(c)})
	}
	fired := make(chan struct{})
	go func() {
		reflect.Select(cases)
		close(fired)
	}()
	return fired
}
