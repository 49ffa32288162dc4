package redlock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
)

var errSilent = errors.New("not asked, because it does not answer")

// A node that did not answer so many times in a row is asked by one operation at
// a time, until it answers: what waits for a hung server costs connections and
// goroutines, and brings nothing.
const silentAfter = 3

// node is one of the masters.
type node struct {
	index      int
	client     func() redis.UniversalClient
	server     *rediskit.Server
	addressed  bool // its errors contain the address of the server
	workers    *rediskit.Workers
	background *rediskit.Background
	debts      debts

	silent  atomic.Int32 // operations in a row that had no answer
	probing atomic.Bool
}

func newNode(index int, client redis.UniversalClient, o options, w *rediskit.Workers, bg *rediskit.Background) *node {
	n := &node{index: index, workers: w, background: bg, server: rediskit.NewServer("redlock", client, bg)}
	n.client = func() redis.UniversalClient { return client }
	if plain, ok := client.(*redis.Client); ok {
		n.addressed = true
		// What is left behind then ends soon. Made when it is first needed, to
		// have the client's hooks.
		n.client = sync.OnceValue(func() redis.UniversalClient { return plain.WithTimeout(o.nodeTimeout) })
	}
	return n
}

// operation must use the context and the client that it is given, and share
// nothing with its caller that either may write to.
type operation[T any] func(context.Context, redis.UniversalClient) (T, error)

// send carries out op on the node and calls done, once, when there is an answer
// or the limit has passed. It never blocks. The caller's goroutine may be the one
// that runs done.
//
// The client cannot be trusted with the limit: by default go-redis heeds no
// deadline while it waits for a reply. So an operation that is late is left
// behind, and may still be applied: done is told by sure whether nothing of the
// kind can happen. The end of the caller's context changes nothing, because what
// comes late is still of use.
func send[T any](ctx context.Context, n *node, limit time.Duration, op operation[T], done func(v T, sure bool, err error)) {
	var none T
	probe := n.silent.Load() >= silentAfter
	if probe && !n.probing.CompareAndSwap(false, true) {
		done(none, true, n.server.NoAnswer(n.named(errSilent), reasonLasts))
		return
	}

	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	var over atomic.Bool
	finish := func(v T, err error) {
		if over.Swap(true) {
			return
		}
		sure := rediskit.Answered(err)
		if sure {
			n.silent.Store(0)
		} else {
			n.silent.Add(1)
		}
		if probe {
			n.probing.Store(false)
		}
		done(v, sure, n.why(err, limit))
	}
	stop := context.AfterFunc(ctx, func() { finish(none, ctx.Err()) })
	leave := n.background.Enter()
	n.workers.Run(func() {
		defer leave()
		defer cancel()
		v, err := op(ctx, n.client())
		stop()
		finish(v, err)
	})
}

const (
	// This is how long the check of a node that does not answer may take, because the
	// caller waits for it.
	askLimit = 250 * time.Millisecond

	// reasonLasts is how long the result stays valid: not every operation asks.
	reasonLasts = 2 * time.Second
)

// why returns an error that names the node, with the reason if it can be found. It
// hides errors of the operation's context, which callers do not know.
func (n *node) why(err error, limit time.Duration) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		err = fmt.Errorf("no answer within %v", limit)
	case rediskit.Answered(err), rediskit.Dialled(err), errors.Is(err, redis.ErrClosed):
		return n.explain(err)
	}
	n.server.Ask(min(limit/4, askLimit))
	return n.server.NoAnswer(n.named(err), reasonLasts)
}

func (n *node) explain(err error) error { return n.server.Explain(n.named(err)) }

// named names the node by its number if its address is not known.
func (n *node) named(err error) error {
	if n.addressed {
		return err
	}
	return fmt.Errorf("node %d: %w", n.index, err)
}
