package zklock

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"
)

// pending is a call of the client library, which knows no contexts, on a goroutine
// of its own. Whoever waits for it can leave.
type pending[T any] struct {
	link  *link
	done  chan struct{}
	value T
	err   error
}

// begin starts f.
func begin[T any](l *link, f func(*zk.Conn) (T, error)) *pending[T] {
	p := &pending[T]{link: l, done: make(chan struct{})}
	go func() {
		p.value, p.err = f(l.conn)
		p.err = l.explain(p.err)
		close(p.done)
	}()
	return p
}

// wait returns what f has returned, or an error if ctx ends first.
func (p *pending[T]) wait(ctx context.Context) (T, error) {
	pause := nudgeAfter
	late := time.NewTimer(pause)
	defer late.Stop()
	for {
		select {
		case <-p.done:
			return p.value, p.err
		case <-late.C:
			p.link.nudge()
			pause *= 2
			late.Reset(pause)
		case <-ctx.Done():
			select {
			case <-p.done: // meanwhile, or while the process stood still
				return p.value, p.err
			default:
				var none T
				return none, p.link.cause(ctx)
			}
		}
	}
}

const (
	nudgeAfter = 250 * time.Millisecond
	maxNudges  = 8
)

// nudge sends the server something, because it owes an answer. ZooKeeper 3.8's
// CommitProcessor looks whether there is work before it takes the lock under which
// it waits for some, and misses what is committed in between. It finds that when
// the next request comes, which with one client is the next sign of life, a third
// of the session's timeout later.
func (l *link) nudge() {
	if l.nudges.Add(1) > maxNudges { // nobody answers
		l.nudges.Add(-1)
		return
	}
	go func() {
		defer l.nudges.Add(-1)
		_, _, _ = l.conn.Exists("/")
	}()
}

// bound returns a context for one operation.
func (b *Backend) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, b.opts.opTimeout, errNoAnswer)
}

// children returns the names of the children of path; none if there is no such
// node.
func (l *link) children(path string) *pending[[]string] {
	return begin(l, func(c *zk.Conn) ([]string, error) {
		names, _, err := c.Children(path)
		if errors.Is(err, zk.ErrNoNode) {
			return nil, nil
		}
		return names, err
	})
}

// stat returns the metadata of a node; zero if there is none.
func (l *link) stat(path string) *pending[zk.Stat] {
	return begin(l, func(c *zk.Conn) (zk.Stat, error) {
		ok, stat, err := c.Exists(path)
		if err != nil || !ok {
			return zk.Stat{}, err
		}
		return *stat, nil
	})
}

// content is the data of a node and its metadata.
type content struct {
	data []byte
	stat zk.Stat
}

// content returns the content of a node, or zero if there is no node.
func (l *link) content(path string) *pending[content] {
	return begin(l, func(c *zk.Conn) (content, error) {
		data, stat, err := c.Get(path)
		switch {
		case errors.Is(err, zk.ErrNoNode):
			return content{}, nil
		case err != nil:
			return content{}, err
		default:
			return content{data, *stat}, nil
		}
	})
}

// sync returns when the server that we are connected to has come to where the
// leader was after it was asked. A server that is cut off from the leader does not
// answer.
func (l *link) sync() *pending[struct{}] {
	return begin(l, func(c *zk.Conn) (struct{}, error) {
		_, err := c.Sync("/")
		return struct{}{}, err
	})
}

// remove deletes a node. It returns false if there was none.
func (l *link) remove(path string) *pending[bool] {
	return begin(l, func(c *zk.Conn) (bool, error) {
		err := c.Delete(path, -1)
		if errors.Is(err, zk.ErrNoNode) {
			return false, nil
		}
		return err == nil, err
	})
}
