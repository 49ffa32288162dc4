package redlock

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// maxPending is how many releases are kept for one node. A node with more is far
	// behind, and leases end by themselves.
	maxPending = 10_000

	firstPause   = 20 * time.Millisecond
	longestPause = 500 * time.Millisecond
)

// nodeRelease is a release of a lock on one node.
type nodeRelease struct {
	key, owner  string
	generation  int
	first, last uint64 // tokens
	ttl         time.Duration

	state   *ownerState // kept until the release is resolved
	inDoubt int         // the operations in doubt that it resolves
	until   time.Time   // when the lease has ended on the node
}

// tombstoneTTL returns how long the node refuses what the release overtakes. An operation
// that arrives later acquires the lock for one lease, in vain.
func (r *nodeRelease) tombstoneTTL() time.Duration {
	if r.inDoubt == 0 {
		return 0
	}
	return max(nodeTTL(r.ttl), time.Minute)
}

func (r *nodeRelease) keys() []string {
	return []string{r.key, tokenKey(r.key), tombstoneKey(r.key, r.owner, r.generation)}
}

func (r *nodeRelease) args() []any {
	return []any{r.owner, r.generation, millis(r.tombstoneTTL()), r.first, r.last}
}

// releaseID identifies releases that have the same effect.
type releaseID struct {
	key, owner          string
	generation, inDoubt int
}

func (r *nodeRelease) id() releaseID { return releaseID{r.key, r.owner, r.generation, r.inDoubt} }

// pendingReleases are the releases that a node has not answered. One goroutine per node
// repeats them until the node answers or the leases have ended.
type pendingReleases struct {
	node   *node
	owners *owners

	mu       sync.Mutex
	list     []nodeRelease
	known    map[releaseID]bool // the releases in list: each is there once
	draining bool
}

// send releases on the node, and repeats it in the background until the outcome is known.
// It calls onReply with what the first request has found. If known is false, this request
// was repeated, and may have found its own effect.
func (p *pendingReleases) send(ctx context.Context, r nodeRelease, limit time.Duration, onReply func(found int64, known bool, err error)) {
	r.until = time.Now().Add(nodeTTL(r.ttl))
	op := func(ctx context.Context, c redis.UniversalClient) ([]int64, error) {
		return run(ctx, c, releaseScript, 1, r.keys(), r.args())
	}
	sendOwn(ctx, p.node, limit, op, func(reply []int64, known bool, err error) {
		if !known && r.generation != anyGeneration {
			p.owners.retainFor(r.state, nodeTTL(r.ttl))
		}
		if err != nil {
			p.add(r)
			onReply(0, known, err)
			return
		}
		p.resolve(&r)
		onReply(reply[0], known, nil)
	})
}

// add adds a release that the node has not answered.
func (p *pendingReleases) add(r nodeRelease) {
	p.mu.Lock()
	if p.known[r.id()] {
		p.mu.Unlock()
		p.owners.unref(r.state)
		return
	}
	if len(p.list) >= maxPending {
		p.mu.Unlock()
		p.resolve(&r)
		return
	}
	if p.known == nil {
		p.known = make(map[releaseID]bool)
	}
	p.known[r.id()] = true
	p.list = append(p.list, r)
	begin := !p.draining
	p.draining = true
	p.mu.Unlock()
	if begin && !p.node.background.Run(p.drain) {
		p.drop()
	}
}

// drain sends the releases, batch after batch, until none is left.
func (p *pendingReleases) drain(ctx context.Context) {
	pause := firstPause
	for {
		select {
		case <-ctx.Done():
			p.drop()
			return
		case <-time.After(pause/2 + rand.N(pause/2)):
		}
		rs := p.next()
		if len(rs) == 0 {
			if p.empty() {
				return
			}
			continue
		}
		if p.flush(ctx, rs) {
			pause = firstPause
		} else {
			pause = min(2*pause, longestPause)
		}
	}
}

// next removes the releases whose leases have ended, and returns the first batch of the
// others.
func (p *pendingReleases) next() []nodeRelease {
	now := time.Now()
	p.mu.Lock()
	var ended []nodeRelease
	kept := p.list[:0]
	for _, r := range p.list {
		if now.Before(r.until) {
			kept = append(kept, r)
		} else {
			ended = append(ended, r)
		}
	}
	p.replace(kept, ended)
	rs := append([]nodeRelease(nil), kept[:min(len(kept), batch)]...)
	p.mu.Unlock()
	for i := range ended {
		p.resolve(&ended[i])
	}
	return rs
}

// flush sends the first releases of the list, which next has returned. It returns false
// if the node does not answer.
func (p *pendingReleases) flush(ctx context.Context, rs []nodeRelease) bool {
	var keys []string
	var args []any
	for i := range rs {
		keys = append(keys, rs[i].keys()...)
		args = append(args, rs[i].args()...)
	}
	op := func(ctx context.Context, c redis.UniversalClient) ([]int64, error) {
		return run(ctx, c, releaseScript, len(rs), keys, args)
	}
	answered := make(chan bool, 1)
	sendOwn(ctx, p.node, p.node.timeout, op, func(_ []int64, _ bool, err error) { answered <- err == nil })
	if !<-answered {
		return false
	}
	p.mu.Lock()
	p.replace(p.list[:copy(p.list, p.list[len(rs):])], rs)
	p.mu.Unlock()
	for i := range rs {
		p.resolve(&rs[i])
	}
	return true
}

// replace makes rest, which is at the beginning of list, the whole list.
func (p *pendingReleases) replace(rest, removed []nodeRelease) {
	for i := range removed {
		delete(p.known, removed[i].id())
	}
	clear(p.list[len(rest):])
	p.list = rest
}

// resolve ends a release that the node has answered, or that is too old to matter.
func (p *pendingReleases) resolve(r *nodeRelease) {
	if ttl := r.tombstoneTTL(); ttl > 0 && r.generation != anyGeneration {
		p.owners.retainTombstone(r.state, nodeTTL(ttl))
	}
	p.owners.resolve(r.state, p.node.index, r.inDoubt)
}

// empty ends the draining, and returns true, if no release is left.
func (p *pendingReleases) empty() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.list) > 0 {
		return false
	}
	p.list, p.known, p.draining = nil, nil, false
	return true
}

// drop removes all releases. The leases end by themselves.
func (p *pendingReleases) drop() {
	p.mu.Lock()
	dropped := p.list
	p.list, p.known, p.draining = nil, nil, false
	p.mu.Unlock()
	for _, r := range dropped {
		p.owners.resolve(r.state, p.node.index, r.inDoubt)
	}
}
