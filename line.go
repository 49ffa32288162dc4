package distlock

import (
	"errors"
	"time"
)

// line is who is inside with one key, and who waits for it, first come first. The
// gate's mutex guards it.
type line struct {
	head, tail *waiter
	n          int // waiters
	others     int // waiters that are no readers

	inside int   // how many the gate has let in
	terms  terms // of one of them, if they are readers or have permits
	asking int   // readers inside who ask the backend
	open   *hold // of readers inside: others may ride on it while it is fit

	said  error     // what the store last answered to the waiter inside
	at    time.Time // when it answered
	fresh time.Time // until when the answer is valid
}

// waiter is one goroutine's place in a line.
type waiter struct {
	terms      terms
	turns      chan turn // receives once
	prev, next *waiter
	queued     bool
}

// admit lets one in whose turn it is, unless it must wait for those inside. A
// reader may get a hold to ride on; otherwise it asks the backend, one reader at a
// time, because all may ride on what the first is given.
func (l *line) admit(t *terms) (*hold, bool) {
	if l.open != nil && l.open.terms == *t && l.open.join(time.Now()) {
		l.inside++
		return l.open, true
	}
	if l.inside > 0 && (l.asking > 0 || !l.terms.admits(l.inside, t)) {
		return nil, false
	}
	l.let(t)
	return nil, true
}

// admitsAside reports whether one that cannot wait for its turn may come in all the
// same, to ask the backend: a reader is not refused because others are asking.
func (l *line) admitsAside(t *terms) bool {
	return l != nil && l.others == 0 && t.mode == Shared && l.terms.admits(l.inside, t)
}

// let lets one in without a hold.
func (l *line) let(t *terms) {
	l.inside++
	l.terms = *t
	if t.mode == Shared {
		l.asking++
	}
}

// advance lets in those at the head who need not wait any more.
func (l *line) advance() {
	if l.inside == 0 {
		l.open = nil
	}
	for l.head != nil {
		h, ok := l.admit(&l.head.terms)
		if !ok {
			return
		}
		l.shift().turns <- turn{hold: h}
	}
}

func (l *line) refusal(now time.Time) error {
	if l == nil || l.said == nil || !now.Before(l.fresh) {
		return &HeldError{}
	}
	held := new(HeldError)
	switch {
	case errors.As(l.said, &held):
		return aged(held, now.Sub(l.at))
	case errors.Is(l.said, ErrNotAcquired):
		return l.said
	default:
		return unavailable(l.said)
	}
}

func (l *line) shift() *waiter {
	w := l.head
	l.remove(w)
	return w
}

func (l *line) push(w *waiter) {
	w.queued, w.prev = true, l.tail
	if l.tail == nil {
		l.head = w
	} else {
		l.tail.next = w
	}
	l.tail = w
	l.n++
	if w.terms.mode != Shared {
		l.others++
	}
}

func (l *line) remove(w *waiter) {
	if w.prev == nil {
		l.head = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		l.tail = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.queued, w.prev, w.next = false, nil, nil
	l.n--
	if w.terms.mode != Shared {
		l.others--
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
