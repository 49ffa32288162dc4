package zklock

import (
	"context"
	"errors"
	"sync"

	"github.com/go-zookeeper/zk"
)

// watches are those on the nodes that ours wait for, one for each node however
// many wait for it: the client library forgets none before it fires, so whoever
// looks again must not add another.
type watches struct {
	link *link

	mu     sync.Mutex
	byPath map[string]*watch
}

type watch struct {
	set   chan struct{} // closed when it is known whether it was set
	err   error         // why not; zk.ErrNoNode if there is no such node
	fired chan struct{} // closed when the node has gone or changed, or nobody would tell
}

func newWatches(l *link) *watches { return &watches{link: l, byPath: make(map[string]*watch)} }

// on returns a channel that is closed when something happens to the node. It is
// nil if there is no such node.
func (w *watches) on(ctx context.Context, path string) (<-chan struct{}, error) {
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
		return nil, nil //nolint:nilnil // a channel that never fires would be worse
	case one.err != nil:
		return nil, one.err
	}
	return one.fired, nil
}

// run sets the watch and waits for it. It reads the data, because that leaves no
// watch behind on a node that does not exist.
func (w *watches) run(path string, one *watch) {
	_, _, events, err := w.link.conn.GetW(path)
	one.err = w.link.explain(err)
	if err == nil {
		close(one.set)
		<-events // comes in the end: when the session is over, or the connection is closed
	}
	w.mu.Lock()
	delete(w.byPath, path)
	w.mu.Unlock()
	if err != nil {
		close(one.set)
	}
	close(one.fired)
}
