package redlock

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/driver"
)

// attempt is one TryAcquire. It outlives the call: late nodes still get the lock if it
// was granted, and are released if not.
type attempt struct {
	b          *backend
	r          driver.Request
	owner      *ownerState
	generation int

	mu       sync.Mutex
	state    state
	noneHeld bool // it failed, and the owner does not hold the lock
	split    bool // it failed, and perhaps no owner holds the lock
	answers  answers
	err      error
	decided  chan struct{}
}

type state int

const (
	undecided state = iota
	granted
	failed
)

func (a *attempt) send(ctx context.Context, i int) {
	keys := []string{
		a.r.Key, tokenKey(a.r.Key),
		tombstoneKey(a.r.Key, a.r.Owner, anyGeneration), tombstoneKey(a.r.Key, a.r.Owner, a.generation), markerKey,
	}
	args := []any{a.r.Owner, a.generation, millis(nodeTTL(a.r.TTL)), rediskit.Flag(a.b.cfg.Tokens)}
	op := func(ctx context.Context, c redis.UniversalClient) ([]any, error) {
		return acquireScript.Run(ctx, c, keys, args...).Slice()
	}
	a.b.nodes[i].checkEviction()
	send(ctx, a.b.nodes[i], a.b.nodes[i].taking.Client, a.b.limit(a.r.TTL), op, func(reply []any, known bool, err error) {
		a.onReply(ctx, i, parseReply(reply, known, err))
		a.b.owners.end(a.owner, i, known)
	})
}

func (a *attempt) onReply(ctx context.Context, i int, ans answer) {
	a.b.nodes[i].ran(ans.run)
	a.mu.Lock()
	if need := a.b.warmUp(); ans.outcome.ours() && ans.dataAge < need {
		ans.err = a.b.nodes[i].explain(fmt.Errorf("does not count: it may have lost its data %v ago, and counts after %v",
			ans.dataAge.Truncate(time.Millisecond), need))
	}
	a.answers[i] = ans
	before := a.state
	if before == undecided {
		a.decide()
	}
	after := a.state
	a.mu.Unlock()
	switch {
	case before == failed:
		a.releaseOn(ctx, i)
	case before == undecided && after == failed:
		a.releaseAll(ctx)
	}
}

// decide sets the state as soon as it is certain.
func (a *attempt) decide() {
	votes, pending := a.answers.votes(), a.answers.count(noReply)
	switch {
	case votes >= a.b.quorum:
		a.state = granted
	case votes+pending >= a.b.quorum:
		return
	// One node more than a quorum can spare, so each is reason enough.
	case a.answers.count(heldByOther) > 0:
		a.state, a.err, a.noneHeld, a.split = failed, a.answers.heldError(), true, a.answers.split(a.b.quorum)
	case a.answers.count(foreign) > 0:
		a.state, a.err, a.noneHeld = failed, a.answers.foreignError(), true
	default:
		a.state, a.err = failed, a.answers.quorumError()
	}
	close(a.decided)
}

// failure returns why the attempt has failed, if it has, and whether perhaps no owner
// holds the lock.
func (a *attempt) failure() (split bool, _ error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.split, a.err
}

// fail ends the attempt for another reason than the answers. An attempt that was
// granted fails only with alsoGranted.
func (a *attempt) fail(err error, alsoGranted bool) {
	a.mu.Lock()
	if a.state == failed || a.state == granted && !alsoGranted {
		a.mu.Unlock()
		return
	}
	if a.state == undecided {
		close(a.decided)
	}
	a.state, a.err = failed, err
	a.mu.Unlock()
	a.releaseAll(context.Background()) //nolint:forbidigo // the caller's context has ended
}

// releaseAll releases, after a failure, what this attempt has acquired. Nodes that have
// not answered follow when they do.
func (a *attempt) releaseAll(ctx context.Context) {
	for i := range a.answers {
		a.releaseOn(ctx, i)
	}
}

// releaseOn releases what this attempt has acquired, or may have acquired, on one node.
func (a *attempt) releaseOn(ctx context.Context, i int) {
	a.mu.Lock()
	ans := &a.answers[i]
	// If the node had the lock already, the owner may be the holder. The holder keeps
	// its lock when other nodes do not answer: after an error the caller releases, or
	// tries again.
	due := !ans.releasing &&
		(ans.outcome == acquired || ans.doubt && !ans.outcome.ours() || ans.outcome == alreadyHeld && a.noneHeld)
	ans.releasing = ans.releasing || due
	inDoubt := 0
	if ans.doubt {
		inDoubt = 1
	}
	a.mu.Unlock()
	if !due {
		return
	}
	a.b.owners.whenIdle(a.owner, i, func() {
		r := nodeRelease{
			key: a.r.Key, owner: a.r.Owner, generation: a.generation, ttl: a.r.TTL,
			state: a.owner, inDoubt: inDoubt,
		}
		a.b.pending[i].send(ctx, r, a.b.limit(a.r.TTL), func(int64, bool, error) {})
	})
}

// mint chooses the tokens of an attempt that was granted, and stores them on a quorum
// before it returns them. A node counts if it has the lock for this owner then. Every
// later grant reads the tokens of at least one of these nodes.
func (a *attempt) mint(ctx context.Context) (nodeTokens, error) {
	a.mu.Lock()
	known, ask := a.answers.tokens()
	a.mu.Unlock()

	t := nodeTokens{}
	t.first, t.last = nextTokens(known, uint64(max(a.r.Tokens, 1)))
	answers := newBallot(len(ask))
	for _, i := range ask {
		a.b.owners.whenIdle(a.owner, i, func() {
			a.storeTokens(ctx, i, t, func(stored int64, known bool, err error) {
				a.b.owners.unref(a.owner)
				answers.cast(stored, known, err)
			})
		})
	}
	if err := a.b.nodes.majority(ctx, answers, a.b.quorum, func(stored int64) bool { return stored == 1 }); err != nil {
		a.fail(err, true)
		return nodeTokens{}, err
	}
	return t, nil
}

// storeTokens stores the tokens on one node.
func (a *attempt) storeTokens(ctx context.Context, i int, t nodeTokens, done func(stored int64, known bool, err error)) {
	keys := []string{a.r.Key, tokenKey(a.r.Key)}
	args := []any{a.r.Owner, t.first, t.last}
	op := func(ctx context.Context, c redis.UniversalClient) (int64, error) {
		return mintScript.Run(ctx, c, keys, args...).Int64()
	}
	send(ctx, a.b.nodes[i], a.b.nodes[i].taking.Client, a.b.limit(a.r.TTL), op, done)
}
