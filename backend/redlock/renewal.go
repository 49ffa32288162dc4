package redlock

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/driver"
)

// renewal is one Renew. It outlives the call: late nodes still extend, and locks that are
// missing on a node are restored.
type renewal struct {
	b      *Backend
	grants []driver.Grant
	valid  []int         // the indexes of the grants that are renewed
	owners []*ownerState // by index
	limit  time.Duration
	sent   time.Time

	mu        sync.Mutex
	counts    []renewCount // by index
	nodesLeft int          // nodes that have not answered for all grants
	decided   chan decision
}

// decision is the result of one grant.
type decision struct {
	index  int
	result driver.RenewResult
}

// renewCount counts what the nodes say about one grant.
type renewCount struct {
	extended, gone, failed int
	missing                []int // nodes without the lock
	errs                   []error
	decided                bool
	status                 driver.RenewStatus
}

// run renews the valid grants and reports each as soon as it is decided.
func (v *renewal) run(ctx context.Context, report func(int, driver.RenewResult)) {
	v.decided = make(chan decision, len(v.valid)) // room for late answers
	for _, i := range v.valid {
		v.owners[i] = v.b.owners.ref(v.grants[i].Owner)
	}
	for _, n := range v.b.nodes {
		v.send(ctx, n, v.valid)
	}
	reported := make([]bool, len(v.grants))
	tell := func(d decision) {
		report(d.index, d.result)
		reported[d.index] = true
	}
	for range v.valid {
		select {
		case d := <-v.decided:
			tell(d)
			continue
		case <-ctx.Done():
		}
		for len(v.decided) > 0 {
			tell(<-v.decided)
		}
		for _, i := range v.valid {
			if !reported[i] {
				report(i, driver.RenewResult{Err: ctx.Err()})
			}
		}
		return
	}
}

// send renews the grants of group on one node, batch after batch, until one has no answer.
func (v *renewal) send(ctx context.Context, n *node, group []int) {
	part := group[:min(batch, len(group))]
	rest := group[len(part):]
	keys := make([]string, 0, len(part))
	args := make([]any, 0, 3*len(part))
	for _, i := range part {
		keys = append(keys, v.grants[i].Key)
		args = append(args, v.grants[i].Owner, millis(nodeTTL(v.grants[i].TTL)), rediskit.Flag(v.grants[i].Retain))
	}
	op := func(ctx context.Context, c redis.UniversalClient) ([]int64, error) {
		return run(ctx, c, renewScript, len(part), keys, args)
	}
	send(ctx, n, n.own.Client, v.limit, op, func(reply []int64, _ bool, err error) {
		v.onReply(n.index, part, reply, err)
		switch {
		case len(rest) == 0:
		case err != nil:
			v.onReply(n.index, rest, nil, err)
		default:
			v.send(ctx, n, rest)
			return
		}
		v.nodeDone(ctx)
	})
}

// onReply takes the answers of one node to one batch.
func (v *renewal) onReply(node int, part []int, reply []int64, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for k, i := range part {
		c := &v.counts[i]
		switch {
		case err != nil:
			c.failed++
			c.errs = append(c.errs, err)
		case reply[k] == foundMine:
			c.extended++
		default:
			c.gone++
			if reply[k] == foundNobody {
				c.missing = append(c.missing, node)
			}
		}
		if result, ok := c.decide(len(v.b.nodes), v.b.quorum); ok {
			v.decided <- decision{i, result}
		}
	}
}

// decide returns the result of the grant when it is certain, and true the first time.
func (c *renewCount) decide(nodes, quorum int) (driver.RenewResult, bool) {
	pending := nodes - c.extended - c.gone - c.failed
	var result driver.RenewResult
	switch {
	case c.decided:
		return result, false
	case c.extended >= quorum:
		result.Status = driver.Renewed
	case c.gone > nodes-quorum:
		result.Status = driver.Lost
	case c.extended+pending < quorum && c.gone+pending <= nodes-quorum:
		result.Err = &quorumError{nodes, c.errs}
	default:
		return result, false
	}
	c.decided, c.status = true, result.Status
	return result, true
}

// nodeDone is called when a node has answered, or failed, for all grants. After the last
// node it restores the locks that are missing.
func (v *renewal) nodeDone(ctx context.Context) {
	v.mu.Lock()
	v.nodesLeft--
	last := v.nodesLeft == 0
	v.mu.Unlock()
	if !last {
		return
	}
	for _, n := range v.b.nodes {
		v.restore(ctx, n)
	}
	for _, i := range v.valid {
		v.b.owners.unref(v.owners[i])
	}
}

// restore puts locks that a quorum has just extended on a node without them: the
// node was down, or has lost them so long ago that it counts again. A release that comes
// meanwhile waits for it or prevents it.
func (v *renewal) restore(ctx context.Context, n *node) {
	var keys []string
	var args []any
	var part []int
	flush := func() {
		if len(part) > 0 {
			v.sendRestore(ctx, n, part, keys, args)
		}
		keys, args, part = nil, nil, nil
	}
	for _, i := range v.valid {
		g := v.grants[i]
		if v.counts[i].status != driver.Renewed || !slices.Contains(v.counts[i].missing, n.index) ||
			time.Since(v.sent) > g.TTL/2 { // the answer of the quorum is old
			continue
		}
		generation, ok := v.b.owners.beginOn(v.owners[i], n.index)
		if !ok {
			continue
		}
		keys = append(keys, g.Key, tombstoneKey(g.Key, g.Owner, anyGeneration))
		args = append(args, value(g.Owner, generation), millis(nodeTTL(g.TTL)))
		if part = append(part, i); len(part) == batch {
			flush()
		}
	}
	flush()
}

// sendRestore restores one batch.
func (v *renewal) sendRestore(ctx context.Context, n *node, part []int, keys []string, args []any) {
	keys = append([]string{markerKey}, keys...)
	args = append([]any{v.b.warmUp().Microseconds()}, args...)
	op := func(ctx context.Context, c redis.UniversalClient) ([]int64, error) {
		return run(ctx, c, restoreScript, len(part), keys, args)
	}
	send(ctx, n, n.own.Client, v.limit, op, func(_ []int64, known bool, _ error) {
		for _, i := range part {
			v.b.owners.end(v.owners[i], n.index, known)
		}
	})
}
