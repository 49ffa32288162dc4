package redislock

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
)

var (
	_ distlock.Backend = (*Backend)(nil)
	_ distlock.Queuer  = (*Backend)(nil)
)

// Backend keeps locks in Redis. It is safe for concurrent use. Make one for each
// Locker, with [New].
type Backend struct {
	opts   options
	nodes  nodes
	inbox  *inbox
	doubts doubts
	args   struct{ inbox, claim, prefix any } // of scripts, always the same

	look       sync.Once // at the server's eviction policy
	background *background
	calls      *calls
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
	bg := newBackground()
	b := &Backend{
		opts:       o,
		nodes:      newNodes(client),
		inbox:      newInbox(client, o.inboxPrefix, uuid.NewString(), bg),
		background: bg,
		calls:      newCalls(client, o.opTimeout, newWorkers(bg.ctx.Done())),
	}
	b.args.inbox, b.args.claim, b.args.prefix = b.inbox.id, o.claimWindow.Milliseconds(), o.inboxPrefix
	return b
}

// Close ends the inbox and its connection and leaves the client open. It takes
// no longer than the operation timeout, and returns nil. Locks are not released.
// A Backend that was closed goes on working, but those who wait poll. Calling
// Close again does nothing.
func (b *Backend) Close() error {
	b.background.end(b.opts.opTimeout)
	return nil
}

// TryAcquire makes one attempt, in one round trip. It fails with a
// [*distlock.HeldError] if another owner has the key, or if the key is free but
// others wait for it; then it also passes the key on to the first of them.
func (b *Backend) TryAcquire(ctx context.Context, r distlock.Request) (distlock.Grant, error) {
	g, _, err := b.attempt(ctx, r, false)
	return g, err
}

// Acquire queues for the key and waits for its turn. A message wakes it; besides
// it looks again when the present lease should end, when r.Backoff says so, and
// every twenty seconds at the least. An r.Backoff of nil means
// [distlock.DefaultRetryInterval] and no limit.
func (b *Backend) Acquire(ctx context.Context, r distlock.Request) (distlock.Grant, error) {
	backoff := r.Backoff
	if backoff == nil {
		backoff = distlock.NewBackoff(distlock.DefaultRetryInterval, 0)
	}
	// Before the first attempt, which queues: the message may come at once.
	wake, leave := b.inbox.join(r.Owner)
	defer leave()

	for {
		g, left, err := b.attempt(ctx, r, true)
		if !errors.Is(err, distlock.ErrNotAcquired) {
			return g, err
		}
		wait, ok := backoff.Wait()
		if !ok {
			return distlock.Grant{}, err
		}
		b.inbox.open()
		if err := sleep(ctx, wake, nextLook(wait, left)); err != nil {
			return distlock.Grant{}, err
		}
	}
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

// attempt runs acquire.lua once. If the key is held by another it returns the
// time left of the present lease, zero if unknown, and a HeldError.
func (b *Backend) attempt(ctx context.Context, r distlock.Request, queue bool) (distlock.Grant, time.Duration, error) {
	if err := checkRequest(r); err != nil {
		return distlock.Grant{}, 0, err
	}
	if err := ctx.Err(); err != nil {
		return distlock.Grant{}, 0, err // nothing was sent
	}
	b.look.Do(b.checkEviction)

	keys := lockKeys(r.Key)
	args := []any{r.Owner, b.args.inbox, flag(queue), r.TTL.Milliseconds(), max(r.Tokens, 1), b.args.claim, b.args.prefix}
	sent := time.Now()
	// Who does not queue takes "held" for certain, and may not release. Had it
	// been sent twice, the first might still take the key, for nobody.
	reply, sure, err := call(ctx, b.calls, queue, func(ctx context.Context, c redis.UniversalClient) ([]int64, error) {
		return acquireScript.Run(ctx, c, keys, args...).Int64Slice()
	})
	if !sure || err != nil {
		// An error that the server sent may be its answer to a second sending by
		// the client, and says nothing about the first.
		b.doubts.add(r.Owner)
	}
	switch {
	case err != nil:
		return distlock.Grant{}, 0, err
	case len(reply) == 3 && reply[0] == 1:
		g := r.Claim()
		g.Token, g.LastToken, g.Sent = uint64(reply[1]), uint64(reply[2]), sent
		return g, 0, nil
	case len(reply) == 2 && reply[0] == 0:
		left := time.Duration(max(reply[1], 0)) * time.Millisecond
		return distlock.Grant{}, left, &distlock.HeldError{RetryAfter: left}
	default:
		b.doubts.add(r.Owner)
		return distlock.Grant{}, 0, fmt.Errorf("redislock: acquire answered %d numbers", len(reply))
	}
}

// Release gives the key back, or the place in its queue, and passes the key on
// to the first who waits. It fails with [distlock.ErrLost] if another owner has
// the key, or if nobody has and g is a grant, with tokens, whose lease must have
// ended. After a release that was answered the server refuses the owner for as
// long as an attempt of it may still be on its way: an owner is good for one
// acquisition.
func (b *Backend) Release(ctx context.Context, g distlock.Grant) error {
	if err := checkNames(g.Key, g.Owner); err != nil {
		return err
	}
	keys := lockKeys(g.Key)
	args := []any{g.Owner, b.args.inbox, flag(b.doubts.has(g.Owner)), g.LastToken, b.args.claim, b.args.prefix}
	found, _, err := call(ctx, b.calls, twice, func(ctx context.Context, c redis.UniversalClient) (int64, error) {
		return releaseScript.Run(ctx, c, keys, args...).Int64()
	})
	if err != nil {
		return err
	}
	b.doubts.remove(g.Owner)
	switch {
	case found == foundMine, found == foundNobody && g.Token == 0:
		return nil
	case found == foundNobody:
		return fmt.Errorf("redislock: the lease has ended: %w", distlock.ErrLost)
	default:
		return fmt.Errorf("redislock: another has the key: %w", distlock.ErrLost)
	}
}

// What release.lua answers. Anything else is no success.
const (
	foundMine   = 1
	foundNobody = 2
)

func checkRequest(r distlock.Request) error {
	if r.TTL < time.Millisecond {
		return fmt.Errorf("redislock: a TTL of %v is less than a millisecond", r.TTL)
	}
	return checkNames(r.Key, r.Owner)
}

// checkNames keeps the format of fences and queues sound. Owners are never
// formatted into errors: who knows an owner can release its lock.
func checkNames(key, owner string) error {
	if key == "" {
		return errors.New("redislock: the key is empty")
	}
	if owner == "" || owner == "-" || len(owner) > 128 {
		return errors.New("redislock: the owner is empty, too long, or reserved")
	}
	for i := range len(owner) {
		if c := owner[i]; c <= ' ' || c > '~' {
			return errors.New("redislock: the owner has a space or a byte that is not printable ASCII")
		}
	}
	return nil
}
