package caslock

import (
	"context"
	"time"

	"github.com/distlock-go/distlock/driver"
)

const (
	// glance is how many places of a line a decision reads.
	glance = 16

	// turnTime is how long a free key is kept for the first in the line. After that the second
	// may have it, and so on.
	turnTime = time.Second

	// pace limits how often a waiter looks by itself: each look is followed by a rest of so many
	// times its length. Looks of hundreds of waiters would make a slow store slower otherwise,
	// until nothing else gets through.
	pace = 200
)

// TryAcquire implements driver.Backend.
func (b *backend) TryAcquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	a := attempt{backend: b, request: &r, waiter: b.waiter(r.Owner)}
	return a.run(ctx)
}

// Enqueue implements driver.Queuer.
func (b *backend) Enqueue(ctx context.Context, r driver.Request) (driver.Grant, error) {
	a := attempt{backend: b, request: &r, waiter: b.waiter(r.Owner)}
	if held := a.waiter.rest(); held != nil {
		return driver.Grant{}, held
	}
	if !a.placed() {
		crowd := false
		b.see(r.Key, func(s *sight) { crowd = s.crowd })
		if !crowd { // or it would be refused, as a rule
			if g, err := a.run(ctx); a.held == nil {
				return g, err
			}
		}
		b.listen()
		a.waiter = b.newWaiter(r.Owner)
	}
	for range 2 {
		if a.waiter.mustJoin() {
			a.waiter.join(b.line.stands(r.TTL))
			if err := b.line.join(ctx, r.Key, b.lease(&r)); err != nil {
				a.waiter.join(0)
				return driver.Grant{}, err
			}
		}
		if g, err := a.run(ctx); a.held == nil || !a.passed {
			return g, err
		}
		a.waiter.join(0) // others have taken it for dead
	}
	return driver.Grant{}, a.held
}

// attempt is one call of TryAcquire or Enqueue.
type attempt struct {
	*backend

	request *driver.Request
	waiter  *waiter // nil before Enqueue and Turn

	start time.Time // of run
	reads int       // decisions on the word of the store

	held   *driver.HeldError // why it was refused
	passed bool              // the owner's place is gone
	gone   []string          // the owners of places to be removed, after a success
	hint   string            // the version in which it is this owner's turn
}

// placed reports whether the owner may have a place in the line.
func (a *attempt) placed() bool { return a.waiter != nil && a.waiter.placed }

// run makes the attempt. The rules about the mark, record.Waiting, are those of the model
// lab/spec/line.pml: see there before a change.
func (a *attempt) run(ctx context.Context) (driver.Grant, error) {
	b, r := a.backend, a.request
	if err := b.tooLong(r.TTL); err != nil {
		return driver.Grant{}, driver.NotSent(err)
	}
	a.start = time.Now()
	if a.waiter != nil {
		a.hint = a.waiter.takeHint()
	}
	// Who has joined looks again: the release that it waits for may be older than its place.
	known := !a.placed() || a.hint != ""
	w, err := b.update(ctx, r.Key, r.Owner, known, func(rec *record) (bool, error) {
		a.held, a.passed, a.gone = nil, false, nil
		if rec.fresh {
			a.reads++
		}
		return a.decide(ctx, rec)
	})
	if a.held != nil && err == nil {
		if a.waiter != nil {
			a.waiter.refused(a.held, time.Since(a.start))
		}
		return driver.Grant{}, a.held
	}
	if err != nil {
		a.held = nil
		if w.sent.IsZero() {
			err = driver.NotSent(err)
		}
		return driver.Grant{}, err
	}
	if !w.fresh { // it takes the key without reading it: processes that have to read ask it for the mark
		b.listen()
	}
	if a.placed() {
		a.gone = append(a.gone, r.Owner)
	}
	b.endWait(r.Owner)
	b.leave(r.Key, r.Owner, a.gone)
	g := r.Grant()
	h := &w.Holders[find(w.Holders, r.Owner)]
	g.Sent, g.Contended, g.Token, g.LastToken = w.sent, w.Waiting, h.Token, h.Token+h.Tokens-1
	return g, nil
}

// decide makes the owner a holder in rec, or says why not.
func (a *attempt) decide(ctx context.Context, rec *record) (write bool, err error) {
	r := a.request
	joined := a.placed()
	if i := find(rec.Holders, r.From); r.From != "" && i >= 0 {
		rec.Holders[i].Owner, rec.Holders[i].Reply, rec.Holders[i].Revoked = r.Owner, a.topic, false
	}
	if i := find(rec.Holders, r.Owner); i >= 0 {
		rec.Holders[i].extend(r.TTL, rec.Count)
		return true, nil
	}
	if r.From != "" {
		return false, driver.ErrLost
	}
	if _, admits := rec.turn(nil, r.Sharing()); !admits {
		a.held = rec.held(r.Sharing())
		mark := joined && !rec.Waiting
		if mark && a.reads > 1 { // the key changes faster than this process can write: the holder sets it
			a.send(rec.Holders[0].Reply, &message{Kind: waits, Key: r.Key})
		}
		rec.Waiting = rec.Waiting || joined
		return mark, nil
	}
	if rec.Waiting && a.hint != rec.version {
		if !rec.fresh { // the line counts only if it is read after the version was the last
			return false, nil
		}
		if next, err := a.isNext(ctx, rec); !next || err != nil {
			return false, err
		}
	}
	// Others in the line may have seen the key free, and only wait: they need the mark.
	rec.Waiting = rec.Waiting || joined
	l := a.lease(r)
	l.extend(r.TTL, rec.Count)
	l.issue(rec, r.Tokens)
	rec.Holders = append(rec.Holders, l)
	return true, nil
}

// isNext reports whether the line lets the owner have the key, which admits it.
func (a *attempt) isNext(ctx context.Context, rec *record) (bool, error) {
	r := a.request
	idle, took := a.idle(r.Key, rec.version), time.Since(a.start)
	n := glance
	if r.Sharing() == (driver.Sharing{}) { // nobody may be before it, but those who are passed
		n = min(n, int(idle/turnTime)+2)
	}
	line, all, err := a.line.places(ctx, r.Key, n)
	if err != nil {
		return false, err
	}
	line = rec.withoutHolders(line)
	a.see(r.Key, func(s *sight) { s.crowd = len(without(line, r.Owner)) > 0 })
	mine := find(line, r.Owner)
	a.passed = a.placed() && mine < 0 && all
	skip := 0
	for skip < len(line) && skip != mine && skip < int(idle/turnTime) {
		if places, _ := rec.turn(line[skip:skip+1], r.Sharing()); places == 0 {
			break // it is not its turn
		}
		a.gone = append(a.gone, line[skip].Owner)
		skip++
	}
	places, more := rec.turn(line[skip:], r.Sharing())
	switch {
	case mine >= 0 && mine-skip < places:
		return true, nil
	case mine >= 0 || !more || !all:
		behind, rest := mine, time.Duration(0)
		if mine < 0 { // it does not know its place
			behind, rest = len(line), min(pace*took, 10*turnTime)
		}
		a.held = rec.held(r.Sharing())
		a.held.RetryAfter = max(rest, turnTime*time.Duration(max(1, behind-skip))-idle%turnTime)
		return false, nil
	case len(line) == 0 && !a.placed() && len(rec.Holders) == 0:
		// The first of those who join after this reading tries to take this version, or sees
		// the next one, and sets the mark again. Not so if this owner has a place: others
		// may have seen that it is first, and only wait.
		rec.Waiting = false
	}
	return true, nil
}

// leave gives up the places of owners, beside the work of the new holder.
func (b *backend) leave(key, holder string, owners []string) {
	if len(owners) == 0 {
		return
	}
	done := make(chan struct{})
	b.mu.Lock()
	b.leaving[holder] = done
	b.mu.Unlock()
	go func() {
		defer close(done)
		_ = b.line.leave(b.ctx, key, owners...) // a place that stays is passed
		b.mu.Lock()
		delete(b.leaving, holder)
		b.mu.Unlock()
	}()
}
