package redlock

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/driver"
)

// renewal is one Renew. It outlives the call, as an attempt does.
type renewal struct {
	b      *Backend
	grants []driver.Grant
	valid  []int // those that are renewed
	claims []*claim
	limit  time.Duration
	sent   time.Time

	mu        sync.Mutex
	counts    []count
	results   []driver.RenewResult
	undecided int
	nodes     int // that are not through
	decided   chan struct{}
}

// count is what the nodes say of one grant.
type count struct {
	mine, gone, failed int
	missing            []int // nodes on which nobody has it
	errs               []error
	over               bool
}

// Renew extends the grants on all nodes at once, with one script on each for
// every 256 of them. It returns when every grant is decided: a quorum has
// extended it, or so many nodes say that the owner does not have it that no
// quorum is left, or neither can come true any more, and it is Unknown.
//
// Where a lock is missing that a quorum has extended, on a node that is trusted,
// it is put again, in the background. A lock that is lost is never created anew.
func (b *Backend) Renew(ctx context.Context, grants []driver.Grant, report func(int, driver.RenewResult)) {
	v := &renewal{
		b: b, grants: slices.Clone(grants), limit: b.opts.nodeTimeout, sent: time.Now(),
		claims:  make([]*claim, len(grants)),
		counts:  make([]count, len(grants)),
		results: make([]driver.RenewResult, len(grants)),
		nodes:   len(b.nodes),
		decided: make(chan struct{}),
	}
	for i, g := range v.grants {
		if v.results[i].Err = first(ctx.Err(), checkNames(g.Key, g.Owner), b.checkTTL(g.TTL)); v.results[i].Err != nil {
			continue
		}
		v.limit = min(v.limit, b.limit(g.TTL))
		v.valid = append(v.valid, i)
	}
	if len(v.valid) == 0 {
		reportAll(v.results, report)
		return
	}
	v.undecided = len(v.valid)
	for _, i := range v.valid {
		v.claims[i] = b.claims.hold(v.grants[i].Owner)
	}
	for _, n := range b.nodes {
		v.send(ctx, n, v.valid)
	}

	select {
	case <-v.decided:
	case <-ctx.Done():
	}
	v.mu.Lock()
	results := slices.Clone(v.results)
	for _, i := range v.valid {
		if !v.counts[i].over {
			results[i].Err = ctx.Err()
		}
	}
	v.mu.Unlock()
	reportAll(results, report)
}

func reportAll(results []driver.RenewResult, report func(int, driver.RenewResult)) {
	for i, r := range results {
		report(i, r)
	}
}

// send renews those that group lists on one node, batch after batch, until one
// has no answer.
func (v *renewal) send(ctx context.Context, n *node, group []int) {
	part := group[:min(batch, len(group))]
	rest := group[len(part):]
	keys := make([]string, 0, len(part))
	args := make([]any, 0, 2*len(part))
	for _, i := range part {
		keys = append(keys, v.grants[i].Key)
		args = append(args, v.grants[i].Owner, millis(onNode(v.grants[i].TTL)))
	}
	op := func(ctx context.Context, c redis.UniversalClient) ([]int64, error) {
		return run(ctx, c, renewScript, len(part), keys, args)
	}
	send(ctx, n, v.limit, op, func(reply []int64, _ bool, err error) {
		v.hear(n.index, part, reply, err)
		switch {
		case len(rest) == 0:
		case err != nil:
			v.hear(n.index, rest, nil, err)
		default:
			v.send(ctx, n, rest)
			return
		}
		v.through(ctx)
	})
}

// hear takes the answers of one node to one batch.
func (v *renewal) hear(node int, part []int, reply []int64, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for k, i := range part {
		c := &v.counts[i]
		switch {
		case err != nil:
			c.failed++
			c.errs = append(c.errs, err)
		case reply[k] == foundMine:
			c.mine++
		default:
			c.gone++
			if reply[k] == foundNobody {
				c.missing = append(c.missing, node)
			}
		}
		if !c.over && v.judge(i) {
			c.over = true
			if v.undecided--; v.undecided == 0 {
				close(v.decided)
			}
		}
	}
}

// judge reports whether a grant is decided.
func (v *renewal) judge(i int) bool {
	c, result := &v.counts[i], &v.results[i]
	all, quorum := len(v.b.nodes), v.b.quorum
	pending := all - c.mine - c.gone - c.failed
	switch {
	case c.mine >= quorum:
		result.Status = driver.Renewed
	case c.gone > all-quorum:
		result.Status = driver.Lost
	case c.mine+pending < quorum && c.gone+pending <= all-quorum:
		result.Err = &quorumError{all, c.errs}
	default:
		return false
	}
	return true
}

// through is called when a node has answered, or failed, for all grants. The last
// one sees to it that locks are put where they are missing.
func (v *renewal) through(ctx context.Context) {
	v.mu.Lock()
	v.nodes--
	last := v.nodes == 0
	v.mu.Unlock()
	if !last {
		return
	}
	for _, n := range v.b.nodes {
		v.restore(ctx, n)
	}
	for _, i := range v.valid {
		v.b.claims.drop(v.claims[i])
	}
}
