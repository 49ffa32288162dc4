package placequeue

import (
	"context"
	"fmt"

	"github.com/distlock-go/distlock/driver"
)

// ErrGivenUp is the error of an attempt if the owner was released meanwhile.
var ErrGivenUp = fmt.Errorf("released while waiting: %w", driver.ErrNotAcquired)

// Acquire makes an attempt for the owner of tk, unless the obstacle of its last one
// remains. The first refusal of a queued request names the holder only if that costs no
// request: most waiters get the key without another.
func (t *Table[T, S]) Acquire(ctx context.Context, tk T, queued bool, attempt func() (driver.Grant, Obstacle, error)) (driver.Grant, error) {
	last, over, err := t.waited(tk)
	switch {
	case err != nil:
		return driver.Grant{}, err
	case last != nil && !over && last.Remains(ctx):
		return driver.Grant{}, last.Err(ctx, true)
	}
	g, o, err := attempt()
	t.Lock()
	one := tk.base()
	if one.wait != nil {
		close(one.wait.replaced)
	}
	if one.wait = nil; o != nil {
		one.wait = &wait{obstacle: o, replaced: make(chan struct{})}
	}
	t.Unlock()
	if o != nil {
		err = o.Err(ctx, !queued || last != nil)
	}
	return g, err
}

// waited returns the obstacle of the last attempt if that was refused, whether it may
// be gone, and once why it cannot be watched.
func (t *Table[T, S]) waited(tk T) (o Obstacle, over bool, err error) {
	t.Lock()
	defer t.Unlock()
	w := tk.base().wait
	if w == nil {
		return nil, false, nil
	}
	err, w.err = w.err, nil
	return w.obstacle, w.over, err
}

// Turn implements [driver.Waker]. The channel is closed when the obstacle of the
// owner's last attempt may be gone or cannot be watched, when another attempt has
// another result, and when the session or the Backend has ended.
func (t *Table[T, S]) Turn(ctx context.Context, bg *Background, r *driver.Request) <-chan driver.Grant {
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
		var err error
		select {
		case <-ctx.Done():
			return
		case err = <-w.obstacle.Watch(watching):
		case <-w.obstacle.Ended():
		case <-w.replaced:
		case <-gone:
		case <-bg.Done():
		}
		t.Lock()
		defer t.Unlock()
		if w.over = true; ctx.Err() == nil {
			w.err = err
		}
	}()
	return turn
}
