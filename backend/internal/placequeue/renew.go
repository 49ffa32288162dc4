package placequeue

import (
	"fmt"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// Renewal is one grant of a call of Renew. Its owner has the key.
type Renewal[T any, S Store] struct {
	Held[T, S]

	Index int
	Asked *driver.Grant // with the length that the lease has to have
}

// Renewals returns the grants of owners that have the key. It reports the others as
// lost.
func (t *Table[T, S]) Renewals(grants []driver.Grant, report func(int, error)) (all []Renewal[T, S]) {
	for i := range grants {
		if lock, ok := t.HeldBy(&grants[i]); ok {
			all = append(all, Renewal[T, S]{lock, i, &grants[i]})
		} else {
			report(i, driver.ErrLost)
		}
	}
	return all
}

// Renewed records the answer to a renewal that was sent at that time, and returns the
// result: whether the place exists, or the error if there is no answer. The place of a
// grant with [driver.Grant].Retain does not end with its session any more.
func (t *Table[T, S]) Renewed(r *Renewal[T, S], sent time.Time, exists bool, err error) error {
	switch {
	case r.Store.HasEnded() && (!r.Asked.Retain || !exists), err == nil && !exists:
		t.Lose(r.Ticket, false)
	case err != nil:
		return err
	default:
		g := r.Grant
		g.Sent, g.TTL, g.Retain = sent, r.Asked.TTL, r.Asked.Retain
		if t.Extend(r.Ticket, g) {
			return nil
		}
	}
	return driver.ErrLost
}

// The errors of Extend.
var (
	ErrOthersWait   = fmt.Errorf("others wait: %w", driver.ErrNotAcquired)
	ErrNotHeld      = fmt.Errorf("the owner does not have the key: %w", driver.ErrLost)
	errNotExclusive = fmt.Errorf("only exclusive locks are handed on: %w", driver.ErrNotAcquired)
)

// Extendable returns the lease of g's owner, or the error of Extend if it has none or
// shares the key.
func (t *Table[T, S]) Extendable(g *driver.Grant) (Held[T, S], error) {
	if g.Sharing() != (driver.Sharing{}) {
		return Held[T, S]{}, errNotExclusive
	}
	lock, ok := t.HeldBy(g)
	if !ok {
		return lock, ErrNotHeld
	}
	return lock, nil
}
