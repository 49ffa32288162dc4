package distlock

import (
	"context"
	"errors"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// prolongTimeout bounds the question whether a hold may go on from hand to hand:
// whoever gives back its last share waits for the answer.
const prolongTimeout = 100 * time.Millisecond

// handOver passes the gate on together with the hold. It returns false if not;
// then the gate and the hold are still the caller's.
func (l *Locker) handOver(key string, h *hold, now time.Time) bool {
	ok, answer := l.queue.HandOver(key, h, now)
	if !ok && answer != nil {
		<-answer // one round trip, where giving back and taking again are two
		ok, _ = l.queue.HandOver(key, h, time.Now())
	}
	if ok {
		l.prolong(h)
	}
	return ok
}

// prolong asks the store in the background, once for each block, whether others
// wait for the key. If nobody does, there will be another block.
func (l *Locker) prolong(h *hold) {
	if l.extender == nil {
		return
	}
	answer := h.ask()
	if answer == nil {
		return
	}
	l.life.cleanup(func() {
		defer close(answer)
		ctx, cancel := context.WithTimeout(l.bg, min(prolongTimeout, h.grant.TTL))
		defer cancel()
		h.sends()
		g, err := l.extender.Extend(ctx, h.grant, l.cfg.HandOvers)
		h.heard(err == nil || errors.Is(err, ErrNotAcquired) || errors.Is(err, ErrLost))
		switch {
		case err == nil:
			h.extend(g.Sent)
			h.prolonged(g)
			l.watchdog.extended(h)
		case errors.Is(err, ErrLost):
			l.watchdog.remove(h)
			_ = h.lose(errTaken) // does nothing if it was released meanwhile
		}
	})
}

// ask returns the channel to close when the store has answered, or nil if it
// need not be asked, or not yet: a key that changes hands now and then shall not
// cost a question each time.
func (h *hold) ask() chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.asked != nil || h.over != nil || h.grant.Contended || h.block.changes <= h.bounds.count/8 {
		return nil
	}
	h.asked = make(chan struct{})
	return h.asked
}

// asking returns the channel that is closed when the store has answered, if it
// was asked.
func (h *hold) asking() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asked
}

// prolonged records that the store gave another block.
func (h *hold) prolonged(g driver.Grant) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over == nil {
		h.next = &block{token: g.Token, last: g.LastToken}
	}
}
