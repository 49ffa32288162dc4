package placequeue

import (
	"context"
	"errors"
	"fmt"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/background"
)

// ErrGivenUp is the error of an attempt if the owner was released meanwhile.
var ErrGivenUp = fmt.Errorf("released while waiting: %w", driver.ErrNotAcquired)

// maxCalls is how many attempts and looks of a Backend are in flight. If thousands were, a
// slow server would answer most of them too late, and the renewals behind them.
const maxCalls = 256

// Acquire makes an attempt for the owner of tk, unless the obstacle of its last one
// remains. The first refusal of a queued request names the holder only if that costs no
// request: most waiters get the key without another.
func (t *Table[T, S]) Acquire(ctx context.Context, tk T, queued bool, attempt func(context.Context) (driver.Grant, Obstacle, error)) (driver.Grant, error) {
	t.Lock()
	one := tk.base()
	last := one.wait
	look := last != nil && !last.over
	t.Unlock()
	op, end := t.limit(ctx)
	defer func() { end() }()
	full := len(t.calls) == maxCalls
	select {
	case t.calls <- struct{}{}:
		defer func() { <-t.calls }()
		if full { // that was no time of the servers
			end()
			op, end = t.limit(ctx)
		}
	case <-op.Done(): // the attempt says why
	}
	if look && last.obstacle.Remains(op) {
		return driver.Grant{}, last.obstacle.Err(op, true)
	}
	g, o, err := attempt(op)
	t.Lock()
	if one.wait != nil {
		close(one.wait.replaced)
	}
	if one.wait = nil; o != nil {
		one.wait = &wait{obstacle: o, replaced: make(chan struct{})}
	}
	t.Unlock()
	if o != nil {
		err = o.Err(op, !queued || last != nil)
	}
	return g, err
}

// Unsent removes the ticket of an attempt that has failed with err, if isUnsent says that
// its owner has no place and no request may still create one. The error then says so. It
// calls isUnsent with the mutex.
func (t *Table[T, S]) Unsent(tk T, err error, isUnsent func() bool) error {
	if err == nil || errors.Is(err, driver.ErrNotAcquired) {
		return err
	}
	t.Lock()
	unsent := isUnsent()
	t.Unlock()
	if !unsent {
		return err
	}
	t.Lose(tk, false)
	return driver.NotSent(err)
}

// Turn implements [driver.Waker]. The channel is closed when the obstacle of the
// owner's last attempt may be gone, when another attempt has another result, and when the
// session or the Backend has ended.
func (t *Table[T, S]) Turn(ctx context.Context, work *background.Work, r *driver.Request) <-chan driver.Grant {
	turn := make(chan driver.Grant)
	t.Lock()
	defer t.Unlock()
	tk, ok := t.tickets[ID{r.Key, r.Owner}]
	if !ok || tk.base().wait == nil {
		close(turn)
		return turn
	}
	w, gone := tk.base().wait, tk.base().Gone
	go func() {
		defer close(turn)
		watching, end := context.WithCancel(ctx)
		defer end()
		select {
		case <-ctx.Done():
			return
		case <-w.obstacle.Watch(watching):
		case <-w.obstacle.Ended():
		case <-w.replaced:
		case <-gone:
		case <-work.Done():
		}
		t.Lock()
		defer t.Unlock()
		w.over = true
	}()
	return turn
}
