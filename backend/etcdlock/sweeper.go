package etcdlock

import (
	"context"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	// sweepPause is the wait after a sweep that has failed or has written a fence. A new
	// fence makes requests that are in flight repeat themselves.
	sweepPause = 200 * time.Millisecond

	// maxOps is how many operations one transaction has. Servers allow 128 by default.
	maxOps = 100
)

// sweeper deletes places that no owner wants, until the server has confirmed it: those of
// leases that have ended, of releases without an answer, and of requests without an answer
// that may still arrive.
type sweeper struct {
	backend *Backend
	wake    chan struct{}

	mu     sync.Mutex
	places map[string]leftover // by path
}

// leftover is a place that no owner wants.
type leftover struct {
	session *session
	doubt   int64 // the fence of a request with an unknown outcome; 0 if there is none
}

func (w *sweeper) add(path string, l leftover) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l.doubt = max(l.doubt, w.places[path].doubt)
	w.places[path] = l
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *sweeper) run() {
	for {
		select {
		case <-w.wake:
		case <-w.backend.background.Done():
			return
		}
		for !w.sweep() {
			select {
			case <-time.After(sweepPause):
			case <-w.backend.background.Done():
				return
			}
		}
	}
}

// next returns a session with some of its leftovers, and the newest fence in doubt. It
// drops those that have ended with their session.
func (w *sweeper) next() (s *session, paths []string, doubt int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for path, l := range w.places {
		switch {
		case l.session.hasEnded():
			delete(w.places, path)
		case s == nil || s == l.session && len(paths) < maxOps:
			s, paths, doubt = l.session, append(paths, path), max(doubt, l.doubt)
		}
	}
	return s, paths, doubt
}

// sweep deletes the leftovers. It returns false if it must be called again after a pause.
func (w *sweeper) sweep() (done bool) {
	for {
		s, paths, doubt := w.next()
		if s == nil {
			return true
		}
		ctx, end := w.backend.opContext(w.backend.background)
		fenced, err := w.delete(ctx, s, paths, doubt)
		end()
		if err != nil {
			return false
		}
		w.mu.Lock()
		for _, path := range paths {
			if l := w.places[path]; l.doubt <= doubt {
				delete(w.places, path)
			}
		}
		w.mu.Unlock()
		if fenced {
			return false
		}
	}
}

// delete deletes places. If one of them may still be created, it writes the fence before,
// unless this has happened since.
func (w *sweeper) delete(ctx context.Context, s *session, paths []string, doubt int64) (fenced bool, err error) {
	var unfenced error
	if doubt >= s.fence.Load() {
		fenced, unfenced = true, s.writeFence(ctx)
	}
	ops := make([]clientv3.Op, len(paths))
	for i, path := range paths {
		ops[i] = clientv3.OpDelete(path)
	}
	if _, err = w.backend.client.Txn(ctx).Then(ops...).Commit(); err == nil {
		err = unfenced // a server without space deletes, and does not write
	}
	return fenced, err
}
