package zklock

import (
	"context"
	"time"

	"github.com/go-zookeeper/zk"
)

// nudgeAfter is the time without an answer after which the server gets another request.
const nudgeAfter = 250 * time.Millisecond

// pending is a call of the client library on a goroutine of its own. The library has no
// contexts. A caller that waits for the result can stop waiting.
type pending[T any] struct {
	link  *link
	done  chan struct{} // closed when value and err are set
	value T
	err   error
}

func begin[T any](l *link, f func(*zk.Conn) (T, error)) *pending[T] {
	p := &pending[T]{link: l, done: make(chan struct{})}
	go func() {
		p.value, p.err = f(l.conn)
		p.err = l.explain(p.err)
		close(p.done)
	}()
	return p
}

// wait returns the result of f, or an error if ctx ends first.
func (p *pending[T]) wait(ctx context.Context) (T, error) {
	start, pause := time.Now(), min(nudgeAfter, p.link.config.OpTimeout/4)
	for {
		select {
		case <-p.done:
			return p.value, p.err
		case <-time.After(pause):
			p.link.nudge()
			p.link.suspect(start)
			pause = min(2*pause, 2*nudgeAfter)
		case <-ctx.Done():
			p.link.suspect(start)
			var none T
			return none, p.link.cause(ctx)
		}
	}
}
