package zklock

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// errSpent ends a wait when its budget has.
var errSpent = fmt.Errorf("zklock: no attempt is left: %w", driver.ErrNotAcquired)

// waiter is one call of Acquire that waits.
type waiter struct {
	backoff driver.Backoff
	last    waiting     // what it waited for last
	why     error       // why it waited; nil if it has not waited yet
	alarm   *time.Timer // when to look without having been woken; nil: not set
	rung    bool
}

func (w *waiter) stop() {
	if w.alarm != nil {
		w.alarm.Stop()
	}
}

// sleep waits until it may be p's turn. A wake-up does not count as an attempt:
// the alarm stays as it is.
func (w *waiter) sleep(ctx context.Context, b *Backend, p *place, what waiting) error {
	if w.alarm == nil || w.rung {
		d, ok := w.backoff.Wait()
		if !ok {
			return errSpent
		}
		w.stop()
		w.alarm, w.rung = time.NewTimer(d), false
	}
	watching, end := context.WithCancel(ctx)
	defer end()
	fired, err := b.watch(watching, what.on)
	if err != nil || fired == nil {
		return err
	}
	select {
	case <-ctx.Done():
		return b.link.cause(ctx)
	case <-b.ctx.Done():
		return errClosed
	case <-p.gone:
		return errGivenUp
	case <-fired:
		return nil
	case <-what.session.ended:
		return nil
	case <-w.alarm.C:
		w.rung = true
		return nil
	}
}

// still reports whether nothing has changed for p: its own node is there, and the
// one that it waits for. It is the short look of those whom nobody has woken.
func (b *Backend) still(ctx context.Context, p *place, what waiting) bool {
	if len(what.on) != 1 {
		return false
	}
	op, end := b.bound(ctx)
	defer end()
	if !p.take(op) {
		return false
	}
	defer p.put()
	if p.isGone() || p.node == "" || what.session != b.link.session() {
		return false
	}
	self, other := b.link.stat(p.node), b.link.stat(what.on[0])
	one, err := self.wait(op)
	if err != nil || one.EphemeralOwner != what.session.id {
		return false
	}
	two, err := other.wait(op)
	return err == nil && two.Czxid != 0
}

// watch returns a channel that is closed when something happens to one of the
// nodes. It is nil if that has been already.
func (b *Backend) watch(ctx context.Context, paths []string) (<-chan struct{}, error) {
	op, end := b.bound(ctx)
	defer end()
	channels := make([]<-chan struct{}, len(paths))
	for i, path := range paths {
		c, err := b.watches.on(op, path)
		if err != nil {
			return nil, err
		}
		if c == nil {
			return nil, nil //nolint:nilnil // the same as of watches.on
		}
		channels[i] = c
	}
	if len(channels) == 1 {
		return channels[0], nil
	}
	return anyOf(ctx, channels), nil
}

// anyOf returns a channel that is closed when one of the others is, or when ctx
// has ended.
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
