package redlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/driver"
)

var errGone = errors.New("redlock: this owner has released the lock")

// attempt is one TryAcquire. It outlives the call: nodes that are late still get
// the lock if it was granted, and give it back if not.
type attempt struct {
	b          *Backend
	r          driver.Request
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
	memory time.Duration    // of a node that has the lock for us
	other  driver.HeldError // what is known of another holder
	token  token
	err    error
	back   bool // it was seen to that what was taken is given back
}

type kind int

const (
	none     kind = iota // yet
	held                 // by another
	foreign              // by another kind of lock
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
// It fails with a [*driver.HeldError] if others have the key on so many nodes
// that no quorum is left, even if several owners share these nodes. If this is only
// because of nodes whose key is of a foreign type, it fails with
// [driver.ErrForeign]. It fails with the errors of the nodes if too many did not
// answer, refused or are not trusted yet. In each case the nodes that it has taken are
// given back in the background.
func (b *Backend) TryAcquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if err := first(checkNames(r.Key, r.Owner), b.checkTTL(r.TTL)); err != nil {
		return driver.Grant{}, err
	}
	if err := ctx.Err(); err != nil {
		return driver.Grant{}, err // nothing was sent
	}
	if err := b.start(ctx); err != nil {
		return driver.Grant{}, err
	}

	c, generation, ok := b.claims.start(r.Owner)
	if !ok {
		return driver.Grant{}, errGone
	}
	defer b.claims.drop(c)
	a := &attempt{
		b: b, r: r, claim: c, generation: generation,
		answers: make([]answer, len(b.nodes)),
		decided: make(chan struct{}),
	}
	g := r.Grant()
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
		return driver.Grant{}, err
	}
	if b.opts.tokens {
		t, err := a.mint(ctx)
		if err != nil {
			return driver.Grant{}, err
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
	op := func(ctx context.Context, c redis.UniversalClient) ([]any, error) {
		return acquireScript.Run(ctx, c, keys, args...).Slice()
	}
	send(ctx, a.b.nodes[i], a.b.limit(a.r.TTL), op, func(reply []any, sure bool, err error) {
		a.hear(ctx, i, parse(reply, sure, err))
		a.b.claims.end(a.claim, i, sure)
	})
}

func parse(reply []any, sure bool, err error) answer {
	switch {
	case err != nil && !sure:
		return answer{kind: silent, err: err}
	case redis.HasErrorPrefix(err, foreignPrefix):
		return answer{kind: foreign, err: err}
	case err != nil:
		return answer{kind: declined, err: err}
	}
	var n [6]int64
	ints := 0
	for ints < min(len(reply), len(n)) {
		v, ok := reply[ints].(int64)
		if !ok {
			break
		}
		n[ints] = v
		ints++
	}
	switch {
	case len(reply) == 4 && ints == 3 && n[0] == 0:
		owner, _ := reply[3].(string)
		return answer{kind: held, other: driver.HeldError{
			RetryAfter: leaseLeft(n[1]), Held: time.Duration(max(n[2], 0)) * time.Microsecond, Holder: holderOf(owner),
		}}
	case len(reply) == 6 && ints == 6 && (n[0] == 1 || n[0] == 2):
		k := taken
		if n[0] == 2 {
			k = already
		}
		return answer{kind: k, memory: time.Duration(n[1]) * time.Microsecond, token: token{
			now: uint64(n[2]), first: uint64(n[3]), last: uint64(n[4]), ours: n[5] == 1,
		}}
	default: // whatever that was, it may have taken the key
		return answer{kind: silent, err: errors.New("redlock: acquire.lua answered in another format")}
	}
}

// foreignPrefix is the prefix of an error of acquire.lua that names a foreign type.
const foreignPrefix = "FOREIGN "

// holderOf returns the name of the holder in a record, without the generation that
// may be behind it.
func holderOf(record string) string {
	owner, _, _ := strings.Cut(record, " ")
	return driver.HolderOf(owner)
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
		ans.err = a.b.nodes[i].explain(&youngError{memory: ans.memory, need: onNode(a.b.opts.maxLease)})
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
	var votes, pending, others, foreigners int
	for _, ans := range a.answers {
		switch {
		case ans.kind == none:
			pending++
		case ans.kind == held:
			others++
		case ans.kind == foreign:
			foreigners++
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
		a.state, a.err, a.certain = failed, a.held(missing), true
	case others+foreigners >= missing:
		a.state, a.err, a.certain = failed, a.foreign(), true
	default:
		a.state, a.err = failed, a.nodeErrors()
	}
	close(a.decided)
}

// held returns the holder of the key, and when enough nodes become free for a quorum.
// If the nodes do not agree on a holder, nobody may have the lock.
func (a *attempt) held(missing int) *driver.HeldError {
	var left []time.Duration
	var all *driver.HeldError
	for _, ans := range a.answers {
		if ans.kind != held {
			continue
		}
		if ans.other.RetryAfter > 0 {
			left = append(left, ans.other.RetryAfter)
		}
		switch {
		case all == nil:
			all = &ans.other
		case all.Holder != ans.other.Holder:
			all.Holder, all.Held = "", 0
		default:
			all.Held = max(all.Held, ans.other.Held)
		}
	}
	all.RetryAfter = 0
	if slices.Sort(left); len(left) >= missing {
		all.RetryAfter = left[missing-1]
	}
	return all
}

// foreign returns the error that says on how many nodes the key has which type.
func (a *attempt) foreign() error {
	n, kind := 0, ""
	for _, ans := range a.answers {
		if ans.kind == foreign {
			n++
			_, kind, _ = strings.Cut(ans.err.Error(), foreignPrefix)
		}
	}
	return fmt.Errorf("redlock: %w: a %s on %d of %d nodes", driver.ErrForeign, kind, n, len(a.answers))
}

func (a *attempt) nodeErrors() error {
	var errs []error
	for _, ans := range a.answers {
		if ans.err != nil {
			errs = append(errs, ans.err)
		}
	}
	return &quorumError{len(a.answers), errs}
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
