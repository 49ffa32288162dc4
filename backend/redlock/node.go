package redlock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/internal/background"
)

const (
	// A node that did not answer silentAfter operations in a row gets one operation at
	// a time until it answers: operations that wait for a hung server take connections
	// and goroutines, and achieve nothing.
	silentAfter = 3

	// askLimit is how long the search for the reason may take when a node does not
	// answer, because the caller waits for it.
	askLimit = 250 * time.Millisecond

	// ownConnections is how many connections to a node are for renewals and releases
	// alone.
	ownConnections = 4

	// maxRepeats is how often an operation is repeated whose connection broke. More
	// than one connection may have been closed meanwhile.
	maxRepeats = 3

	// reasonLasts is how long the reason stays valid: not every operation searches.
	reasonLasts = 2 * time.Second
)

// node is one of the masters.
type node struct {
	index      int
	timeout    time.Duration
	own        *rediskit.OwnPool // for renewals and releases
	taking     *rediskit.OwnPool // for everything else
	server     *rediskit.Server
	listener   *rediskit.Listener
	addressed  bool // its errors contain the address of the server
	background *background.Work

	unanswered atomic.Int32 // operations in a row that had no answer
	probing    atomic.Bool
	run        atomic.Pointer[string] // the run_id of the server that answered last, if it is known
}

func newNode(index int, client redis.UniversalClient, timeout time.Duration, work *background.Work) *node {
	n := &node{
		index: index, timeout: timeout, background: work,
		server:   rediskit.NewServer("redlock", client, work, timeout),
		listener: rediskit.NewListener(client, work),
		own:      rediskit.NewOwnPool(client, ownConnections, timeout),
		taking:   rediskit.NewOwnPool(client, 0, timeout),
	}
	_, n.addressed = client.(*redis.Client)
	return n
}

// operation must use the context and the client that it gets, and send one
// [rediskit.Cmd]. It must not share anything with its caller that either may write to.
type operation[T any] func(context.Context, redis.UniversalClient) (T, error)

// send runs op on the node, with a client of the node, and calls done once: when there
// is an answer, or when the limit has passed. It never blocks. It may call done on the
// goroutine of the caller.
//
// The client cannot be trusted with the limit: by default go-redis ignores the deadline
// while it waits for a reply. A late operation is therefore abandoned. An operation
// whose connection broke is repeated. In both cases known is false: what was sent may
// still take effect, and with a repetition it may have done so before. The end of the
// caller's context changes nothing, because a late result is still of use.
func send[T any](ctx context.Context, n *node, client func() redis.UniversalClient, limit time.Duration, op operation[T], done func(v T, known bool, err error)) {
	probe := n.unanswered.Load() >= silentAfter
	if probe && !n.probing.CompareAndSwap(false, true) {
		var none T
		done(none, true, n.server.NoAnswer(n.named(errSilent), reasonLasts))
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	type result struct {
		value T
		doubt bool // an earlier try may have taken effect, or may still do so
	}
	call := func(ctx context.Context) (r result, err error) {
		for tries := 0; ; tries++ {
			r.value, err = op(ctx, client())
			if !rediskit.Broken(err) || tries == maxRepeats || ctx.Err() != nil {
				return r, err
			}
			r.doubt = true
		}
	}
	rediskit.Call(ctx, n.background, call, func(r result, err error) {
		defer cancel()
		if rediskit.Answered(err) {
			n.unanswered.Store(0)
		} else {
			n.unanswered.Add(1)
		}
		if probe {
			n.probing.Store(false)
		}
		n.server.Leave(client(), "", err)
		done(r.value, !r.doubt && rediskit.FateOf(err) != rediskit.Unknown, n.explainUnanswered(err, limit))
	})
}

// marker asks the node whether it has a marker. With set it marks the node if it has
// none.
func (n *node) marker(ctx context.Context, set bool, done func(marked int64, known bool, err error)) {
	op := func(ctx context.Context, c redis.UniversalClient) (int64, error) {
		reply, err := bootstrapScript.Run(ctx, c, []string{markerKey}, rediskit.Flag(set)).Slice()
		if err != nil {
			return 0, err
		}
		marked, rest := rediskit.Numbers(reply)
		if len(marked) != 1 || len(rest) != 1 {
			return 0, errFormat
		}
		run, _ := rest[0].(string)
		n.ran(run)
		return marked[0], nil
	}
	send(ctx, n, n.taking.Client, n.timeout, op, done)
}

// ran notes the run_id of the server that has answered, if it is known.
func (n *node) ran(run string) {
	if known := n.run.Load(); run != "" && (known == nil || *known != run) {
		n.run.Store(&run)
	}
}

// explainUnanswered returns an error that names the node and, if there was no answer,
// the reason if it can be found. It hides errors of the operation's context, which
// callers do not know.
func (n *node) explainUnanswered(err error, limit time.Duration) error {
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

// checkEviction logs a warning, once, if the node may evict locks.
func (n *node) checkEviction() {
	n.server.CheckEviction(slog.Default(), n.taking.Client())
}

var (
	errFormat = errors.New("redlock: a script returned a reply of another format")
	errSilent = errors.New("not asked, because it does not answer")
)
