package placequeue

import (
	"fmt"

	"github.com/distlock-go/distlock/driver"
)

// Release removes the ticket of g's owner. remove deletes the place of the ticket, and
// reports whether there was one. Without a ticket, leftovers deletes the places of the
// owner in the queue: it reports whether there were any, and how many places are in the
// queue. Repeating a release that had no answer is not an error.
func (t *Table[T, S]) Release(g *driver.Grant, remove func(tk T) (existed bool, err error), leftovers func() (found bool, queued int, err error)) error {
	id := ID{g.Key, g.Owner}
	tk, wasHeld, ok := t.take(id)
	if ok {
		existed, err := remove(tk)
		switch {
		case err != nil:
			t.Lock()
			defer t.Unlock()
			t.releases.Add(id)
			return err
		case wasHeld && !existed:
			return fmt.Errorf("the place of the owner was deleted: %w", driver.ErrLost)
		}
		return nil
	}
	found, queued, err := leftovers()
	t.Lock()
	defer t.Unlock()
	switch {
	case err != nil:
		return err
	case found, t.releases.Has(id):
		return nil
	case queued > 0:
		return fmt.Errorf("another has the key: %w", driver.ErrLost)
	case g.Token != 0:
		return fmt.Errorf("the lease has ended: %w", driver.ErrLost)
	}
	return nil
}

// take removes the ticket with the ID, and returns it, and whether its owner had the
// key.
func (t *Table[T, S]) take(id ID) (tk T, wasHeld, ok bool) {
	t.Lock()
	defer t.Unlock()
	if tk, ok = t.tickets[id]; ok {
		wasHeld = tk.base().held
		t.drop(tk)
	}
	return tk, wasHeld, ok
}

// Each calls f for each place, until it returns an error. It reports whether it has
// returned true for any.
func Each[Q ~[]P, P Place](q Q, f func(P) (bool, error)) (one bool, err error) {
	for _, p := range q {
		ok, err := f(p)
		if err != nil {
			return one, err
		}
		one = one || ok
	}
	return one, nil
}
