package redissonlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/distlock-go/distlock/backend/internal/doubt"
	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/wake"
)

// errGone is the error for an attempt of an owner that has released.
var errGone = errors.New("redissonlock: this owner has released the lock")

// TryAcquire implements [driver.Backend]. If this process has just released the key,
// and others have heard of it, TryAcquire first leaves them a moment to take it: see
// the package comment.
func (b *backend) TryAcquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g := r.Grant()
	if err := checkRequest(g); err != nil {
		return driver.Grant{}, err
	}
	if r.TTL < time.Millisecond {
		return driver.Grant{}, fmt.Errorf("redissonlock: a TTL of %v is less than a millisecond", r.TTL)
	}
	b.turns.wait(ctx, r.Key)
	tokens := max(r.Tokens, 1)
	k := keysOf(r.Key)
	b.checkEviction()
	a, err := b.run(ctx, b.taking.Client(), acquireScript, []string{k.lock, k.counter, k.gone},
		r.Owner, r.TTL.Milliseconds(), tokens)
	if !a.known {
		b.inDoubt.Add(r.Owner, doubt.Attempt)
	}
	switch {
	case err != nil && a.known && !rediskit.Answered(err) && ctx.Err() == nil:
		return driver.Grant{}, driver.NotSent(err)
	case err != nil:
		return driver.Grant{}, err
	}
	g.Sent = a.sent
	return b.parseGrant(g, tokens, a)
}

// parseGrant fills in g from the reply of acquire.lua, which had asked for so many
// tokens.
func (b *backend) parseGrant(g driver.Grant, tokens int, a result) (driver.Grant, error) {
	n, rest := a.numbers()
	switch {
	case len(n) == 3 && len(rest) == 1 && n[0] == 0:
		return driver.Grant{}, heldError(n, rest[0])
	case len(n) == 2 && n[0] == 1 && n[1] >= int64(tokens):
		g.LastToken = uint64(n[1])
		g.Token = g.LastToken - uint64(tokens) + 1
		return g, nil
	case len(n) == 1 && len(rest) == 1 && n[0] == 2:
		return driver.Grant{}, foreign(fmt.Sprint(rest[0]))
	case len(n) == 1 && n[0] == 3:
		return driver.Grant{}, errGone
	}
	b.inDoubt.Add(g.Owner, doubt.Attempt)
	return driver.Grant{}, fmt.Errorf("redissonlock: acquire answered %q", a.value)
}

// heldError returns the error of an attempt that was refused.
func heldError(n []int64, fields any) *driver.HeldError {
	held := &driver.HeldError{RetryAfter: time.Duration(n[1]+1) * time.Millisecond} // the server rounds down
	if n[2] > 0 {
		held.Held = time.Duration(n[2]) * time.Microsecond
	}
	for _, f := range fieldsOf(fields) {
		_, held.Holder, _ = holder(f.name, f.holds)
	}
	return held
}

// field is a holder in the record of a lock.
type field struct{ name, holds string }

// fieldsOf returns the holders among the fields and values of a lock.
func fieldsOf(reply any) (fields []field) {
	parts, _ := reply.([]any)
	for i := 0; i+1 < len(parts); i += 2 {
		if name := fmt.Sprint(parts[i]); name != "mode" {
			fields = append(fields, field{name, fmt.Sprint(parts[i+1])})
		}
	}
	return fields
}

// foreign returns the error for a key that contains something else than a lock.
func foreign(kind string) error {
	return fmt.Errorf("redissonlock: %w: a %s", driver.ErrForeign, kind)
}

// Turn implements [driver.Waker]. It listens to the messages of RLock and of
// RReadWriteLock.
func (b *backend) Turn(ctx context.Context, r driver.Request) <-chan driver.Grant {
	up := make(chan driver.Grant, 1)
	tell := func() { wake.Signal(up) }
	message := func(string) { tell() }
	lock, readWrite := channels(r.Key)
	endLock := b.listener.Subscribe(lock, message, tell)
	endReadWrite := b.listener.Subscribe(readWrite, message, tell)
	context.AfterFunc(ctx, func() {
		endLock()
		endReadWrite()
	})
	return up
}
