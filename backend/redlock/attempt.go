package redlock

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
)

var errGone = errors.New("redlock: this owner has released the lock")

// attempt is one TryAcquire. It outlives the call: nodes that are late still get
// the lock if it was granted, and give it back if not.
type attempt struct {
	b          *Backend
	r          distlock.Request
	claim      *claim
	generation int

	mu      sync.Mutex
	state   state
	certain bool // of a failure: the owner has nothing
	answers []answer
	err     error
	decided chan struct{}
}

type state int

const (
	open state = iota
	granted
	failed
)

// answer is what is known of one node.
type answer struct {
	kind   kind
	memory time.Duration // of a node that has the lock for us
	left   time.Duration // of another's lease; zero if unknown
	token  token
	err    error
	back   bool // it was seen to that what was taken is given back
}

type kind int

const (
	none     kind = iota // yet
	held                 // by another
	taken                // by this attempt
	already              // by this attempt, as it was sent twice, or by one that was granted
	silent               // and may still be applied
	declined             // for certain
)

func (k kind) ours() bool { return k == taken || k == already }

// TryAcquire makes one attempt on all nodes at once, and returns when a quorum
// has granted it or cannot any more. Nodes that are slower than that get the
// lock, too, in the background.
//
// It fails with a [*distlock.HeldError] if others have the key on so many nodes
// that no quorum is left, be it that each of several has some. It fails with the
// errors of the nodes, joined, if too many did not answer, refused or are not
// trusted yet. Either way what it has taken is given back in the background.
func (b *Backend) TryAcquire(ctx context.Context, r distlock.Request) (distlock.Grant, error) {
	if err := errors.Join(checkNames(r.Key, r.Owner), b.checkTTL(r.TTL)); err != nil {
		return distlock.Grant{}, err
	}
	if err := ctx.Err(); err != nil {
		return distlock.Grant{}, err // nothing was sent
	}
	if err := b.start(ctx); err != nil {
		return distlock.Grant{}, err
	}

	c, generation, ok := b.claims.start(r.Owner)
	if !ok {
		return distlock.Grant{}, errGone
	}
	defer b.claims.drop(c)
	a := &attempt{
		b: b, r: r, claim: c, generation: generation,
		answers: make([]answer, len(b.nodes)),
		decided: make(chan struct{}),
	}
	g := r.Claim()
	g.Sent = time.Now()
	for i := range b.nodes {
		a.send(ctx, i)
	}
	select {
	case <-a.decided:
	case <-ctx.Done():
		a.fail(ctx.Err(), false)
	}
	if err := a.error(); err != nil {
		return distlock.Grant{}, err
	}
	if b.opts.tokens {
		t, err := a.mint(ctx)
		if err != nil {
			return distlock.Grant{}, err
		}
		g.Token, g.LastToken = t.first, t.last
	}
	return g, nil
}

func (a *attempt) send(ctx context.Context, i int) {
	keys := []string{
		a.r.Key, tokenKey(a.r.Key),
		graveKey(a.r.Key, a.r.Owner, everything), graveKey(a.r.Key, a.r.Owner, a.generation), markerKey,
	}
	args := []any{a.r.Owner, a.generation, millis(onNode(a.r.TTL)), flag(a.b.opts.tokens)}
	op := func(ctx context.Context, c redis.UniversalClient) ([]int64, error) {
		return acquireScript.Run(ctx, c, keys, args...).Int64Slice()
	}
	send(ctx, a.b.nodes[i], a.b.limit(a.r.TTL), op, func(reply []int64, sure bool, err error) {
		a.hear(ctx, i, parse(reply, sure, err))
		a.b.claims.end(a.claim, i, sure)
	})
}

func parse(reply []int64, sure bool, err error) answer {
	switch {
	case err != nil && !sure:
		return answer{kind: silent, err: err}
	case err != nil:
		return answer{kind: declined, err: err}
	case len(reply) == 2 && reply[0] == 0:
		return answer{kind: held, left: leaseLeft(reply[1])}
	case len(reply) == 6 && (reply[0] == 1 || reply[0] == 2):
		k := taken
		if reply[0] == 2 {
			k = already
		}
		return answer{kind: k, memory: time.Duration(reply[1]) * time.Microsecond, token: token{
			now: uint64(reply[2]), first: uint64(reply[3]), last: uint64(reply[4]), ours: reply[5] == 1,
		}}
	default: // whatever that was, it may have taken the key
		return answer{kind: silent, err: errors.New("redlock: acquire.lua answered in another format")}
	}
}

// leaseLeft is what is left of another's lease if its key lives for so many
// milliseconds more.
func leaseLeft(pttl int64) time.Duration {
	if pttl < 0 {
		return 0
	}
	d := time.Duration(pttl) * time.Millisecond
	return max((d-2*time.Millisecond)*100/101, time.Millisecond)
}

// hear takes the answer of a node.
func (a *attempt) hear(ctx context.Context, i int, ans answer) {
	a.mu.Lock()
	if ans.kind.ours() && !a.b.trusted(ans.memory) {
		ans.err = &youngError{node: i, memory: ans.memory, need: onNode(a.b.opts.maxLease)}
	}
	a.answers[i] = ans
	late := a.state
	if late == open {
		a.judge()
	}
	failing := a.state == failed
	a.mu.Unlock()
	switch {
	case late == failed:
		a.takeBack(ctx, i)
	case late == open && failing:
		a.takeAllBack(ctx)
	}
}

// judge decides as soon as it can be.
func (a *attempt) judge() {
	var votes, pending, others int
	var left []time.Duration
	for _, ans := range a.answers {
		switch {
		case ans.kind == none:
			pending++
		case ans.kind == held:
			others++
			if ans.left > 0 {
				left = append(left, ans.left)
			}
		case ans.kind.ours() && ans.err == nil:
			votes++
		}
	}
	switch missing := a.b.quorum - votes - pending; {
	case votes >= a.b.quorum:
		a.state = granted
	case missing <= 0:
		return
	case others >= missing: // others are in the way, and nothing else is so far
		err := &distlock.HeldError{}
		slices.Sort(left)
		if len(left) >= missing {
			err.RetryAfter = left[missing-1]
		}
		a.state, a.err, a.certain = failed, err, true
	default:
		a.state, a.err = failed, a.nodeErrors()
	}
	close(a.decided)
}

func (a *attempt) nodeErrors() error {
	var errs []error
	for _, ans := range a.answers {
		if ans.err != nil {
			errs = append(errs, ans.err)
		}
	}
	return errors.Join(errs...)
}

func (a *attempt) error() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}

// fail ends an attempt for another reason than the answers. One that was granted
// ends only if granted says so.
func (a *attempt) fail(err error, alsoGranted bool) {
	a.mu.Lock()
	if a.state == failed || a.state == granted && !alsoGranted {
		a.mu.Unlock()
		return
	}
	if a.state == open {
		close(a.decided)
	}
	a.state, a.err = failed, err
	a.mu.Unlock()
	a.takeAllBack(context.Background()) //nolint:forbidigo // the caller's has ended
}
