package zklock

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/distlock-go/distlock/internal/clock"
)

// watches contains one watch for each node that tickets wait for, however many they
// are. The client library keeps a watch until it fires, so a waiter that looks again
// must not add another one.
type watches struct {
	link *link

	mu     sync.Mutex
	byPath map[string]*watch
}

type watch struct {
	set   chan struct{} // closed when err and data are known
	err   error         // why the watch was not set; zk.ErrNoNode if there is no such node
	data  []byte        // of the node, until fired is closed
	fired chan struct{} // closed when the node was deleted or changed, or the watch has ended
}

// add returns a watch that fires when the node is deleted or changed. It is nil if
// there is no such node.
func (w *watches) add(ctx context.Context, path string) (*watch, error) {
	w.mu.Lock()
	one := w.byPath[path]
	if one == nil {
		one = &watch{set: make(chan struct{}), fired: make(chan struct{})}
		w.byPath[path] = one
		go w.run(path, one)
	}
	w.mu.Unlock()
	select {
	case <-one.set:
	case <-ctx.Done():
		return nil, w.link.cause(ctx)
	}
	switch {
	case errors.Is(one.err, zk.ErrNoNode):
		return nil, nil //nolint:nilnil // a watch that never fires would be worse
	case one.err != nil:
		return nil, one.err
	}
	return one, nil
}

// wait returns when the node was deleted or changed, or is not there. If it cannot be
// watched, it returns after a pause.
func (w *watches) wait(ctx context.Context, path string) {
	op, end := w.link.opContext(ctx)
	defer end()
	switch one, err := w.add(op, path); {
	case err != nil:
		clock.Sleep(ctx, retryPause)
	case one != nil:
		select {
		case <-one.fired:
		case <-ctx.Done():
		}
	}
}

// run sets the watch and waits for its event. It reads the data of the node, because
// that sets no watch on a node that does not exist.
func (w *watches) run(path string, one *watch) {
	data, _, events, err := w.link.conn.GetW(path)
	one.data, one.err = data, w.link.explain(err)
	if err == nil {
		close(one.set)
		<-events // there is an event even if the session ends or the connection is closed
	}
	w.mu.Lock()
	delete(w.byPath, path)
	w.mu.Unlock()
	if err != nil {
		close(one.set)
	}
	close(one.fired)
}

// retryPause is the wait before a background task tries again.
const retryPause = 100 * time.Millisecond
