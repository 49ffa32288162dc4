package caslock

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// TryAcquire implements driver.Backend.
func (b *backend) TryAcquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return b.attempt(ctx, &r, b.waiter(r.Owner))
}

// Enqueue implements driver.Queuer.
func (b *backend) Enqueue(ctx context.Context, r driver.Request) (driver.Grant, error) {
	w := b.waiter(r.Owner)
	if held := b.rest(w); held != nil {
		return driver.Grant{}, held
	}
	if !w.placed {
		crowd := false
		b.see(r.Key, func(s *sight) { crowd = s.crowd })
		if !crowd { // or it would be refused, as a rule
			if g, err := b.attempt(ctx, &r, w); !errors.As(err, new(*driver.HeldError)) {
				return g, err
			}
		}
		b.listen()
		b.locked(func() { w.placed, b.all[r.Owner] = true, w })
	}
	if !time.Now().Before(w.joinAt) {
		if err := b.join(ctx, r.Key, b.lease(&r)); err != nil {
			return driver.Grant{}, err
		}
		w.joinAt = time.Now().Add(stands/6 + rand.N(stands/6)) // waiters that came together come back one by one
	}
	return b.attempt(ctx, &r, w)
}

// attempt is one call of TryAcquire or Enqueue.
type attempt struct {
	*backend

	request *driver.Request
	waiter  *waiter

	hint string   // the version in which it is this owner's turn
	gone []string // the owners of places to be removed, after a success
}

// attempt makes one. The rules about the mark, record.Waiting, are those of the model
// lab/spec/line.pml: see there before a change.
func (b *backend) attempt(ctx context.Context, r *driver.Request, w *waiter) (driver.Grant, error) {
	if err := b.tooLong(r.TTL); err != nil {
		return driver.Grant{}, driver.NotSent(err)
	}
	a := attempt{backend: b, request: r, waiter: w}
	start := time.Now()
	b.locked(func() { a.hint, w.hint, w.lookAt = w.hint, "", time.Time{} })
	rec, sent, err := b.update(ctx, r.Key, func(rec *record) (bool, error) { return a.decide(ctx, rec) })
	if held := new(driver.HeldError); errors.As(err, &held) {
		b.refused(w, held, time.Since(start))
	} else if err != nil && !errors.Is(err, driver.ErrNotSent) {
		b.locked(func() { w.unsure, b.all[r.Owner] = true, w })
	}
	if err != nil {
		return driver.Grant{}, err
	}
	if !rec.fresh { // it takes the key without reading it: processes that have to read ask it for the mark
		b.listen()
	}
	if w.placed {
		a.gone = append(a.gone, r.Owner)
	}
	b.locked(func() { delete(b.all, r.Owner) })
	if len(a.gone) > 0 { // beside the work of the new holder
		done := make(chan struct{})
		b.leaving.Store(r.Owner, done)
		go func() {
			_ = b.leave(b.background, r.Key, a.gone...) // a place that stays is passed
			b.leaving.Delete(r.Owner)
			close(done)
		}()
	}
	g := find(rec.Holders, r.Owner).grant(r.Grant(), sent)
	g.Contended = rec.Waiting
	return g, nil
}

// decide makes the owner a holder in rec, or says why not.
func (a *attempt) decide(ctx context.Context, rec *record) (write bool, err error) {
	r, joined, mark := a.request, a.waiter.placed, rec.Waiting
	a.gone = nil
	if h := find(rec.Holders, r.From); h != nil {
		h.Owner, h.Reply, h.Revoked = r.Owner, a.topic, false
	}
	if h := find(rec.Holders, r.Owner); h != nil {
		h.extend(r.TTL, rec.Count)
		return true, nil
	}
	if r.From != "" {
		return false, driver.ErrLost
	}
	told := a.hint != "" && a.hint == rec.version
	if !rec.fresh && !told && (joined || mark) {
		// The release that it waits for may be older than its place, and the line counts only if
		// it is read after the version was the last.
		return false, nil
	}
	rec.Waiting = mark || joined // others in the line may have seen the key free, and only wait
	if _, admits := rec.turn(nil, r.Sharing()); !admits {
		if mark = joined && !mark; mark { // if the key changes faster than this process can write, the holder does it
			a.send(rec.Holders[0].Reply, &message{Key: r.Key, Owner: r.Owner, Waits: true})
		}
		return mark, rec.held(r.Sharing())
	}
	if mark && !told {
		if err := a.turn(ctx, rec); err != nil {
			return false, err
		}
	}
	l := a.lease(r)
	l.extend(r.TTL, rec.Count)
	l.issue(rec, r.Tokens)
	rec.Holders = append(rec.Holders, l)
	return true, nil
}

// turn returns nil if the line lets the owner have the key, which admits it.
func (a *attempt) turn(ctx context.Context, rec *record) error {
	r, turns := a.request, int(rec.idle/turnTime)
	n := glance
	if r.Sharing() == (driver.Sharing{}) { // nobody may be before it, but those who are passed
		n = min(n, turns+2)
	}
	line, all, err := a.waiting(ctx, r.Key, r.Owner, rec, n)
	if err != nil {
		return err
	}
	mine, skip := place(line, r.Owner), 0
	for skip < len(line) && skip != mine && skip < turns {
		if places, _ := rec.turn(line[skip:skip+1], r.Sharing()); places == 0 {
			break // it is not its turn
		}
		a.gone = append(a.gone, line[skip].Owner)
		skip++
	}
	places, more := rec.turn(line[skip:], r.Sharing())
	switch {
	case mine >= 0 && mine-skip < places:
	case mine >= 0 || !more || !all:
		held, behind := rec.held(r.Sharing()), mine-skip
		if mine < 0 { // it does not know its place
			behind = glance
		}
		held.RetryAfter = turnTime*time.Duration(max(1, behind)) - rec.idle%turnTime
		if a.waiter.placed && mine < 0 && all { // others have taken it for dead
			a.waiter.joinAt = time.Time{}
		}
		return held
	case len(line) == 0 && len(rec.Holders) == 0:
		// The first of those who join after this reading tries to take this version, or sees
		// the next one, and sets the mark again. Not so if this owner has a place: others
		// may have seen that it is first, and only wait.
		rec.Waiting = false
	}
	return nil
}

// lease returns what is written of the owner as a holder or a waiter.
func (b *backend) lease(r *driver.Request) lease {
	return lease{
		Owner: r.Owner, TTL: millis(stands), Since: time.Now().UnixMilli(),
		Shared: r.Mode == driver.Shared, Permits: r.Permits, Reply: b.topic,
	}
}
