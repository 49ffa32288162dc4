package etcdlock

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/distlock-go/distlock/internal/clock"
	"github.com/distlock-go/distlock/internal/wake"
)

const (
	// sweepPause is the wait after a sweep that has failed or has written a fence. A
	// new fence makes requests that are in flight repeat themselves.
	sweepPause = 200 * time.Millisecond

	// maxOps is how many operations one transaction has. Servers allow 128 by default.
	maxOps = 100
)

// sweeper deletes the places of tickets that have left the table, until the server has
// confirmed it. Their leases have ended, or a release had no answer, or a request had
// none and may still arrive.
type sweeper struct {
	link   *link
	table  *table
	wake   chan struct{}
	places map[*ticket]struct{} // the table's mutex guards it
}

// take deletes the place of a ticket that has left the table.
func (w *sweeper) take(tk *ticket) {
	if w.table.leave(tk) {
		w.table.Lock()
		defer w.table.Unlock()
		w.add(tk)
	}
}

// deleted records that the place of a ticket was deleted, under this fence if a
// deletion may still arrive, and 0 if not.
func (w *sweeper) deleted(tk *ticket, doubt int64) {
	w.table.Lock()
	defer w.table.Unlock()
	if tk.doubt = max(tk.doubt, doubt); tk.doubt != 0 {
		w.add(tk)
	} else {
		w.table.putSlot(tk.ID.Key, tk.slot)
	}
}

func (w *sweeper) add(tk *ticket) {
	w.places[tk] = struct{}{}
	wake.Signal(w.wake)
}

func (w *sweeper) run() {
	for {
		select {
		case <-w.wake:
		case <-w.link.background.Done():
			return
		}
		for !w.sweep() {
			if !clock.Sleep(w.link.background, sweepPause) {
				return
			}
		}
	}
}

// next returns some of the tickets of one session, and the newest fence of their
// requests in doubt. It gives up those that have ended with their session.
func (w *sweeper) next() (batch []*ticket, doubt int64) {
	w.table.Lock()
	defer w.table.Unlock()
	for tk := range w.places {
		switch {
		case tk.session.HasEnded():
			w.remove(tk)
		case len(batch) == 0 || tk.session == batch[0].session && len(batch) < maxOps:
			batch, doubt = append(batch, tk), max(doubt, tk.doubt)
		}
	}
	return batch, doubt
}

func (w *sweeper) remove(tk *ticket) {
	delete(w.places, tk)
	w.table.putSlot(tk.ID.Key, tk.slot)
}

// sweep deletes the places. It returns false if it must be called again after a pause.
func (w *sweeper) sweep() (done bool) {
	for {
		batch, doubt := w.next()
		if len(batch) == 0 {
			return true
		}
		ctx, end := w.link.opContext(w.link.background)
		fenced, err := w.delete(ctx, batch, doubt)
		end()
		w.table.Lock()
		for _, tk := range batch {
			if err == nil {
				w.remove(tk)
			} else {
				tk.doubt = tk.session.fence.Load() // a deletion may arrive late, too
			}
		}
		w.table.Unlock()
		if fenced || err != nil {
			return false
		}
	}
}

// delete deletes places of one session. If a request for one of them may still arrive,
// it writes the fence before, unless this has happened since.
func (w *sweeper) delete(ctx context.Context, batch []*ticket, doubt int64) (fenced bool, err error) {
	ops := make([]clientv3.Op, len(batch))
	for i, tk := range batch {
		ops[i] = clientv3.OpDelete(tk.path)
	}
	s := batch[0].session
	var unfenced error
	if fenced = doubt >= s.fence.Load(); fenced {
		unfenced = s.writeFence(ctx)
	}
	if _, err = w.link.client.Txn(ctx).Then(ops...).Commit(); err == nil {
		err = unfenced // a server without space deletes, and does not write
	}
	return fenced, err
}
