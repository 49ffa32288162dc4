package redlock

import (
	"cmp"
	"context"
	"math/rand/v2"
	"time"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/clock"
)

// TryAcquire makes one attempt on all nodes at once. It returns when a quorum has
// granted the lock, or cannot any more. Slower nodes get the lock too, in the
// background.
//
// It fails with a [*driver.HeldError] if other owners have the key on so many nodes
// that no quorum is left, and with [driver.ErrForeign] if that is so only because of
// nodes where the key is of a foreign type. It fails with the errors of the nodes if
// too many did not answer, refused, or do not count yet. Then it releases in the
// background what it has acquired. If several owners share the nodes, it tries again up
// to five times.
func (b *backend) TryAcquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if err := cmp.Or(ctx.Err(), rediskit.CheckNames("redlock", r.Key, r.Owner), b.checkTTL(r.TTL)); err != nil {
		return driver.Grant{}, err // nothing was sent
	}
	if err := b.bootstrap(ctx); err != nil {
		return driver.Grant{}, err
	}
	for tries := 1; ; tries++ {
		began := time.Now()
		g, split, err := b.attempt(ctx, r)
		if !split || tries == maxTries || !clock.Sleep(ctx, splitPause(tries, time.Since(began))) {
			return g, err
		}
	}
}

// maxTries is how many attempts a TryAcquire makes if several owners share the nodes.
// They stay shared if a process has died during an attempt.
const maxTries = 6

// splitPause returns a random pause: otherwise the attempts that have failed together
// fail together again. The pause is longer each time.
func splitPause(tries int, took time.Duration) time.Duration {
	return rand.N(max(took, time.Millisecond) << min(tries, 4))
}

// attempt makes one attempt. split is true if it has failed, and perhaps no owner has
// the key.
func (b *backend) attempt(ctx context.Context, r driver.Request) (_ driver.Grant, split bool, _ error) {
	o, generation, ok := b.owners.begin(r.Owner)
	if !ok {
		return driver.Grant{}, false, errReleased
	}
	defer b.owners.unref(o)
	a := &attempt{
		b: b, r: r, owner: o, generation: generation,
		answers: make(answers, len(b.nodes)),
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
		a.fail(b.nodes.silent(), false)
	}
	if split, err := a.failure(); err != nil {
		return driver.Grant{}, split, err
	}
	if err := b.nodes.distinct(); err != nil {
		a.fail(err, true)
		return driver.Grant{}, false, err
	}
	if b.cfg.Tokens {
		t, err := a.mint(ctx)
		if err != nil {
			return driver.Grant{}, false, err
		}
		g.Token, g.LastToken = t.first, t.last
	}
	return g, false, nil
}
