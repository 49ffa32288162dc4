package redlock

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/driver"
)

// Renew extends the grants on all nodes at once, with one script on each node for every
// 256 grants. If a lock that a quorum has extended is missing on a node that counts, it
// is restored there in the background. A lock that is lost is never created anew.
func (b *backend) Renew(ctx context.Context, grants []driver.Grant, report func(int, error)) {
	v := &renewal{
		b: b, grants: grants, limit: b.cfg.NodeTimeout, sent: time.Now(),
		owners:    make([]*ownerState, len(grants)),
		counts:    make([]renewCount, len(grants)),
		nodesLeft: len(b.nodes),
	}
	for i, g := range v.grants {
		if err := cmp.Or(ctx.Err(), rediskit.CheckNames("redlock", g.Key, g.Owner), b.checkTTL(g.TTL)); err != nil {
			report(i, err)
			continue
		}
		v.limit = min(v.limit, b.limit(g.TTL))
		v.valid = append(v.valid, i)
	}
	if len(v.valid) > 0 {
		v.run(ctx, report)
	}
}

// renewal is one Renew. It outlives the call: late nodes still extend, and locks that
// are missing on a node are restored.
type renewal struct {
	b      *backend
	grants []driver.Grant
	valid  []int         // the indexes of the grants that are renewed
	owners []*ownerState // by index
	limit  time.Duration
	sent   time.Time

	mu        sync.Mutex
	counts    []renewCount // by index
	nodesLeft int          // nodes that have not answered for all grants
	results   chan result
}

// result is the result of one grant.
type result struct {
	index int
	err   error
}

// renewCount counts what the nodes say about one grant.
type renewCount struct {
	extended, gone, failed int
	missing                []int // nodes without the lock
	errs                   []error
	told                   bool // there is a result
}

// run renews the valid grants and reports each as soon as it is decided, or when ctx
// ends.
func (v *renewal) run(ctx context.Context, report func(int, error)) {
	v.results = make(chan result, len(v.valid))
	for _, i := range v.valid {
		v.owners[i] = v.b.owners.ref(v.grants[i].Owner)
	}
	for _, n := range v.b.nodes {
		v.send(ctx, n, v.valid)
	}
	stop := context.AfterFunc(ctx, func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		for _, i := range v.valid {
			v.tell(i, v.b.nodes.silent())
		}
	})
	defer stop()
	for range v.valid {
		r := <-v.results
		report(r.index, r.err)
	}
}

// tell sets the result of a grant that has none. The caller has the mutex.
func (v *renewal) tell(i int, err error) {
	if c := &v.counts[i]; !c.told {
		c.told = true
		v.results <- result{i, err}
	}
}

// send renews the grants of group on one node, batch after batch, until one has no
// answer.
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
		v.decide(i)
	}
}

// decide sets the result of a grant if it is certain. The caller has the mutex.
func (v *renewal) decide(i int) {
	c, nodes, quorum := &v.counts[i], len(v.b.nodes), v.b.quorum
	pending := nodes - c.extended - c.gone - c.failed
	switch {
	case c.extended >= quorum:
		v.tell(i, nil)
	case c.gone > nodes-quorum:
		v.tell(i, driver.ErrLost)
	case c.extended+pending < quorum && c.gone+pending <= nodes-quorum:
		v.tell(i, &quorumError{nodes, c.errs})
	}
}

// nodeDone is called when a node has answered, or failed, for all grants. After the
// last node it restores the locks that are missing.
func (v *renewal) nodeDone(ctx context.Context) {
	v.mu.Lock()
	v.nodesLeft--
	last := v.nodesLeft == 0
	v.mu.Unlock()
	if !last {
		return
	}
	for _, n := range v.b.nodes {
		for group := range slices.Chunk(v.valid, batch) {
			v.restore(ctx, n, group)
		}
	}
	for _, i := range v.valid {
		v.b.owners.unref(v.owners[i])
	}
}

// restore puts locks of group that a quorum has just extended on a node without them:
// the node was down, or has lost them so long ago that it counts again. A release that
// comes meanwhile waits for it or prevents it.
func (v *renewal) restore(ctx context.Context, n *node, group []int) {
	keys, args := []string{markerKey}, []any{v.b.warmUp().Microseconds()}
	var part []int
	for _, i := range group {
		g := v.grants[i]
		if v.counts[i].extended < v.b.quorum || !slices.Contains(v.counts[i].missing, n.index) ||
			time.Since(v.sent) > g.TTL/2 { // the answer of the quorum is old
			continue
		}
		generation, ok := v.b.owners.beginOn(v.owners[i], n.index)
		if !ok {
			continue
		}
		keys = append(keys, g.Key, tombstoneKey(g.Key, g.Owner, anyGeneration))
		args = append(args, value(g.Owner, generation), millis(nodeTTL(g.TTL)))
		part = append(part, i)
	}
	if len(part) == 0 {
		return
	}
	op := func(ctx context.Context, c redis.UniversalClient) ([]int64, error) {
		return run(ctx, c, restoreScript, len(part), keys, args)
	}
	send(ctx, n, n.own.Client, v.limit, op, func(_ []int64, known bool, _ error) {
		for _, i := range part {
			v.b.owners.end(v.owners[i], n.index, known)
		}
	})
}
