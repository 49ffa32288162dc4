package etcdlock

import (
	"context"
	"sync"
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

// sweeper deletes places that no owner wants, until the server has confirmed it. Their
// leases have ended, or a release had no answer, or a request had none and may still
// arrive.
type sweeper struct {
	link  *link
	table *table
	wake  chan struct{}

	mu     sync.Mutex
	places map[string]leftover // by path
}

// take deletes the place of a ticket that has left the table.
func (w *sweeper) take(tk *ticket) {
	if l, ok := w.table.leftover(tk); ok {
		w.add(l)
	}
}

func (w *sweeper) add(l leftover) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.places[l.path] = l
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

// next returns some of the leftovers of one session, and all that have ended with their
// session.
func (w *sweeper) next() (batch, ended []leftover) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for path, l := range w.places {
		switch {
		case l.session.HasEnded():
			ended = append(ended, l)
			delete(w.places, path)
		case len(batch) == 0 || l.session == batch[0].session && len(batch) < maxOps:
			batch = append(batch, l)
		}
	}
	return batch, ended
}

// sweep deletes the leftovers. It returns false if it must be called again after a
// pause.
func (w *sweeper) sweep() (done bool) {
	for {
		batch, ended := w.next()
		w.table.deleted(ended...)
		if len(batch) == 0 {
			return true
		}
		ctx, end := w.link.opContext(w.link.background)
		fenced, err := w.delete(ctx, batch)
		end()
		w.mu.Lock()
		for _, l := range batch {
			if delete(w.places, l.path); err != nil {
				l.doubt = l.session.fence.Load() // a deletion may arrive late, too
				w.places[l.path] = l
			}
		}
		w.mu.Unlock()
		if err == nil {
			w.table.deleted(batch...)
		}
		if fenced || err != nil {
			return false
		}
	}
}

// delete deletes places of one session. If a request for one of them may still arrive,
// it writes the fence before, unless this has happened since.
func (w *sweeper) delete(ctx context.Context, batch []leftover) (fenced bool, err error) {
	s := batch[0].session
	ops := make([]clientv3.Op, len(batch))
	for i, l := range batch {
		ops[i] = clientv3.OpDelete(l.path)
		fenced = fenced || l.doubt >= s.fence.Load()
	}
	var unfenced error
	if fenced {
		unfenced = s.writeFence(ctx)
	}
	if _, err = w.link.client.Txn(ctx).Then(ops...).Commit(); err == nil {
		err = unfenced // a server without space deletes, and does not write
	}
	return fenced, err
}
