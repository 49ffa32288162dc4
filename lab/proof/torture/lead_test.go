package torture

import (
	"context"
	"errors"

	"github.com/distlock-go/distlock"
)

// errEnough is returned by a leader that does not want to be elected again.
var errEnough = errors.New("enough")

// lead campaigns for a key, and leads for one term or two. Each term is an attempt. It
// reports whether it was elected.
func (w *worker) lead(life context.Context, a ask) (elected bool, failure error) {
	terms := 1 + w.rng.IntN(2)
	t := w.begin(life, a)
	defer t.cancel()
	t.witness.resigned = func(err error) {
		t.released(err)
		if terms > 0 && failure == nil {
			t.tellBegin(a)
		}
	}
	err := w.locker.Lead(t.ctx, keyName(a.keys[0]), a.opts, func(ctx context.Context) error {
		terms--
		elected = true
		lease, _ := distlock.FromContext(ctx)
		t.granted([]*distlock.Lease{lease})
		failure = t.work(ctx, func() bool { return lease.Check() == nil })
		if failure == nil && terms > 0 {
			return nil // it campaigns again
		}
		return errEnough
	})
	if terms > 0 && failure == nil {
		t.refused(err)
	}
	return elected, failure
}
