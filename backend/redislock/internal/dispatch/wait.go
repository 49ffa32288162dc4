package dispatch

import (
	"context"
	"slices"
)

// await waits for the result of a call or, if the caller is not patient, for the end of ctx. The
// caller may have to lead meanwhile.
func (b *Batcher[R, V]) await(ctx context.Context, c *call[R, V], patient bool) Result[V] {
	for {
		if patient {
			patient = <-c.signals != noAnswerYet
			if !patient {
				continue
			}
		} else if known, left := b.watch(ctx, c); left {
			return Result[V]{Err: ctx.Err(), OutcomeKnown: known}
		}
		switch {
		case c.state == stateDone:
			r := c.result
			b.recycle(c)
			return r
		case ctx.Err() != nil:
			return Result[V]{Err: ctx.Err(), OutcomeKnown: b.resign(c)}
		default:
			b.lead(c)
		}
	}
}

// watch waits until the call is done or its caller has to lead. It returns left if ctx ended
// before, and whether the outcome is known then.
func (b *Batcher[R, V]) watch(ctx context.Context, c *call[R, V]) (outcomeKnown, left bool) {
	select {
	case <-c.signals: // it has led: most contexts make their channel when they are asked for it
		return false, false
	default:
	}
	select {
	case <-c.signals:
		return false, false
	case <-ctx.Done():
		outcomeKnown, left = b.leave(c)
		if !left {
			<-c.signals
		}
		return outcomeKnown, left
	}
}

// resign ends a call whose caller does not wait any more, and lets another one lead. It
// returns whether the outcome is known.
func (b *Batcher[R, V]) resign(c *call[R, V]) (outcomeKnown bool) {
	b.mu.Lock()
	b.inFlight--
	outcomeKnown = !c.inDoubt
	b.recycle(c)
	b.mu.Unlock()
	b.next()
	return outcomeKnown
}

// hurry tells the callers to look at their contexts. The caller has the mutex.
func (b *Batcher[R, V]) hurry(calls []*call[R, V]) {
	for _, c := range calls {
		if c.patient {
			c.patient = false
			c.signals <- noAnswerYet
		}
	}
}

// leave ends a call whose caller does not wait any more. It returns false if the call is
// done, or leads. The outcome is known if the request was not sent.
func (b *Batcher[R, V]) leave(c *call[R, V]) (outcomeKnown, left bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch c.state {
	case stateDone, stateLeads:
		return false, false
	case stateSent:
		c.state = stateLeft // the message refers to it
		return false, true
	default:
		i := slices.Index(b.queue, c)
		b.queue = slices.Delete(b.queue, i, i+1)
		known := !c.inDoubt
		b.recycle(c)
		return known, true
	}
}

// recycle keeps a call for reuse, because it has a channel. Only its caller refers to it.
func (b *Batcher[R, V]) recycle(c *call[R, V]) {
	*c = call[R, V]{signals: c.signals}
	b.calls.Put(c)
}
