package redislock

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/driver"
)

var (
	_ driver.Backend  = (*Backend)(nil)
	_ driver.Queuer   = (*Backend)(nil)
	_ driver.Extender = (*Backend)(nil)
)

// Backend keeps locks in Redis. It is safe for concurrent use. Make one for each
// Locker, with [New].
type Backend struct {
	opts   options
	nodes  nodes
	inbox  *inbox
	doubts doubts

	look       sync.Once // at the server's eviction policy
	background *rediskit.Background
	calls      *calls
	fleet      *fleet
}

// New returns a Backend that keeps locks where client points to: one server, a
// master that Sentinel watches, or a Cluster. The client stays the caller's, who
// closes it after the Backend; any settings will do. A nil client panics.
//
// The inbox connection is the Backend's own, one per Backend, from the first
// time that an acquisition waits until Close.
func New(client redis.UniversalClient, opts ...Option) *Backend {
	if v := reflect.ValueOf(client); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		panic("redislock: nil client")
	}
	o := newOptions(opts)
	o.replicas.check(client, o.opTimeout)
	bg := rediskit.NewBackground()
	n := newNodes(client)
	b := &Backend{
		opts:       o,
		nodes:      n,
		inbox:      newInbox(n, o.inboxPrefix, uuid.NewString(), bg),
		background: bg,
		calls: &calls{
			client: client, limit: o.opTimeout, workers: rediskit.NewWorkers(bg.Done()),
			background: bg,
			server:     rediskit.NewServer("redislock", client, bg),
		},
	}
	own := &arguments{inbox: b.inbox.id, prefix: o.inboxPrefix, claim: o.claimWindow.Milliseconds(), replicas: o.replicas}
	b.fleet = newFleet(b.calls, b.nodes, own)
	return b
}

// Close ends the inbox and its connection and leaves the client open. It takes
// no longer than the operation timeout, and returns nil. Locks are not released.
// A Backend that was closed goes on working, but those who wait poll. Calling
// Close again does nothing.
func (b *Backend) Close() error {
	b.background.End(b.opts.opTimeout)
	return nil
}

// TryAcquire makes one attempt, in one round trip. It fails with a
// [*driver.HeldError] if another owner has the key, or if the key is free but
// others wait for it; then it also passes the key on to the first of them.
func (b *Backend) TryAcquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, _, err := b.attempt(ctx, r, try)
	return g, err
}

// Acquire queues for the key and waits for its turn. A message wakes it; besides
// it looks again when the present lease should end, when r.Backoff says so, and
// every twenty seconds at the least. An r.Backoff of nil means
// [distlock.DefaultRetryInterval] and no limit. If ctx ends, the error also names the
// holder. For a lock of another kind it does not queue, but it checks as often.
func (b *Backend) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	backoff := r.Backoff
	if backoff == nil {
		backoff = driver.NewBackoff(distlock.DefaultRetryInterval, 0)
	}
	// Before the first attempt, which queues: the message may come at once.
	wake, leave := b.inbox.join(r.Owner)
	defer leave()

	var held error // what the last answer was
	for {
		g, left, err := b.attempt(ctx, r, enqueue)
		if !errors.Is(err, driver.ErrNotAcquired) {
			return g, ended(ctx, held, err)
		}
		held = err
		wait, ok := backoff.Wait()
		if !ok {
			return driver.Grant{}, err
		}
		b.inbox.open()
		if err := sleep(ctx, wake, nextLook(wait, left)); err != nil {
			return driver.Grant{}, ended(ctx, held, err)
		}
	}
}

// ended adds to an error of ctx the holder that the last attempt found.
func ended(ctx context.Context, held, err error) error {
	if held == nil || ctx.Err() == nil || !errors.Is(err, ctx.Err()) {
		return err
	}
	return fmt.Errorf("%w: %w", held, err)
}

// nextLook cuts a wait to the end of the present lease, but never so short that
// waiting becomes spinning, and to what keeps the queue alive.
func nextLook(wait, left time.Duration) time.Duration {
	const shortest = 2 * time.Millisecond
	if left > 0 {
		// The server counts a started millisecond as none.
		wait = min(wait, max(left+time.Millisecond, shortest))
	}
	return min(wait, queueTTL/3)
}

// sleep waits for d or a wake-up. It fails if ctx ends.
func sleep(ctx context.Context, wake <-chan struct{}, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-wake:
		return nil
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// attempt runs acquire.lua or share.lua once. If the key is held by another it
// returns the time left of the present lease, zero if unknown, and a HeldError.
func (b *Backend) attempt(ctx context.Context, r driver.Request, how string) (driver.Grant, time.Duration, error) {
	if err := checkRequest(r); err != nil {
		return driver.Grant{}, 0, err
	}
	if err := ctx.Err(); err != nil {
		return driver.Grant{}, 0, err // nothing was sent
	}
	b.look.Do(b.checkEviction)

	o := b.fleet.ops.get()
	o.script, o.keys, o.owner = acquireScript, lockKeys(r.Key), r.Owner
	if o.wants = wants(r.Mode, r.Permits); o.wants != "" {
		o.script = shareScript
	}
	o.ttl, o.want, o.how = r.TTL.Milliseconds(), int64(max(r.Tokens, 1)), how
	// Who does not queue takes "held" for certain, and may not release. Had it
	// been sent twice, the first might still take the key, for nobody. And what
	// waits for replicas takes longer than may be spent on a caller's goroutine.
	o.repeatable = how != try && b.opts.replicas.n == 0
	a := b.fleet.do(ctx, o)
	wrong := isLine(a.err, "WRONGTYPE")
	if !a.sure || a.err != nil && !a.sent.IsZero() && !wrong {
		// An error that the server sent may be its answer to a second sending by
		// the client, and says nothing about the first.
		b.doubts.add(r.Owner)
	}
	switch {
	case redis.HasErrorPrefix(a.err, "WRONGTYPE"):
		left, err := b.wrongType(ctx, r.Key, a.err)
		if how == prolong && errors.Is(err, driver.ErrForeign) {
			err = fmt.Errorf("redislock: the owner does not have the key: %w", driver.ErrLost)
		}
		return driver.Grant{}, left, err
	case a.err != nil:
		return driver.Grant{}, 0, a.err
	}
	g, left, err := b.verdict(r, a)
	if err == nil && how != prolong && a.confirmed < b.opts.replicas.n {
		return driver.Grant{}, 0, b.opts.replicas.unconfirmed(a.confirmed)
	}
	return g, left, err
}

// verdict reads what acquire.lua or share.lua said.
func (b *Backend) verdict(r driver.Request, a answer) (driver.Grant, time.Duration, error) {
	status, rest, _ := strings.Cut(a.line, " ")
	switch status {
	case "1":
		first, rest, _ := strings.Cut(rest, " ")
		last, others, _ := strings.Cut(rest, " ")
		g := r.Grant()
		var err, err2 error
		g.Token, err = strconv.ParseUint(first, 10, 64)
		g.LastToken, err2 = strconv.ParseUint(last, 10, 64)
		if err == nil && err2 == nil {
			g.Sent, g.Contended = a.sent, others == "1"
			return g, 0, nil
		}
	case "0":
		if held := heldError(rest); held != nil {
			return driver.Grant{}, held.RetryAfter, held
		}
	case "2":
		return driver.Grant{}, 0, fmt.Errorf("redislock: the owner does not have the key: %w", driver.ErrLost)
	}
	b.doubts.add(r.Owner)
	return driver.Grant{}, 0, fmt.Errorf("redislock: acquire answered %q", a.line)
}

// heldError parses what scripts return after the 0 of a refusal: see refusal in
// lib.lua. It returns nil if the reply has another form.
func heldError(rest string) *driver.HeldError {
	words := strings.Fields(rest)
	if len(words) == 0 {
		return nil
	}
	ms, err := strconv.ParseInt(words[0], 10, 64)
	if err != nil {
		return nil //nolint:nilerr // the caller reports the reply
	}
	held := &driver.HeldError{RetryAfter: time.Duration(max(ms, 0)) * time.Millisecond}
	if len(words) > 1 {
		if us, err := strconv.ParseInt(words[1], 10, 64); err == nil && us > 0 {
			held.Held = time.Duration(us) * time.Microsecond
		}
	}
	if len(words) > 2 {
		held.Holder = words[2]
	}
	return held
}

// Prolong extends g and mints further tokens, in one round trip, unless others
// wait for the key. It is what a process asks that hands a key from one of its own
// to the next. Only exclusive locks are handed on: for others the error wraps
// [driver.ErrNotAcquired], too.
func (b *Backend) Extend(ctx context.Context, g driver.Grant, tokens int) (driver.Grant, error) {
	if wants(g.Mode, g.Permits) != "" {
		return driver.Grant{}, errProlong
	}
	r := driver.Request{Key: g.Key, Owner: g.Owner, TTL: g.TTL, Tokens: tokens}
	more, _, err := b.attempt(ctx, r, prolong)
	return more, err
}

// Release gives the key back, or the place in its queue, and passes the key on
// to the first who waits. It fails with [driver.ErrLost] if another owner has
// the key, or if nobody has and g is a grant, with tokens, whose lease must have
// ended; unless it had to be sent twice: then it was the first that gave the key
// back, as far as anybody can tell. After a release that was answered the server refuses the owner for as
// long as an attempt of it may still be on its way: an owner is good for one
// acquisition.
func (b *Backend) Release(ctx context.Context, g driver.Grant) error {
	if err := checkNames(g.Key, g.Owner); err != nil {
		return err
	}
	if err := checkMode(g.Mode, g.Permits); err != nil {
		return err
	}
	o := b.fleet.ops.get()
	o.script, o.keys, o.owner = releaseScript, lockKeys(g.Key), g.Owner
	if o.wants = wants(g.Mode, g.Permits); o.wants != "" {
		o.script = unshareScript
	}
	o.doubt, o.minted, o.repeatable = flag(b.doubts.has(g.Owner)), g.LastToken, true
	a := b.fleet.do(ctx, o)
	if a.err != nil {
		return a.err
	}
	b.doubts.remove(g.Owner)
	switch {
	case a.line == foundMine, a.line == foundNobody && g.Token == 0:
		return nil
	case !a.sure:
		return nil // sent twice: the first was applied, as far as anybody can tell
	case a.line == foundNobody:
		return fmt.Errorf("redislock: the lease has ended: %w", driver.ErrLost)
	default:
		return fmt.Errorf("redislock: another has the key: %w", driver.ErrLost)
	}
}

// What release.lua answers. Anything else is no success.
const (
	foundMine   = "1"
	foundNobody = "2"
)

func checkRequest(r driver.Request) error {
	if r.TTL < time.Millisecond {
		return fmt.Errorf("redislock: a TTL of %v is less than a millisecond", r.TTL)
	}
	if err := checkMode(r.Mode, r.Permits); err != nil {
		return err
	}
	return checkNames(r.Key, r.Owner)
}

// checkNames says which package refuses a key or an owner.
func checkNames(key, owner string) error {
	if err := rediskit.CheckNames(key, owner); err != nil {
		return fmt.Errorf("redislock: %w", err)
	}
	return nil
}
