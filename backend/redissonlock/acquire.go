package redissonlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/distlock-go/distlock/backend/internal/doubt"
	"github.com/distlock-go/distlock/driver"
)

// errGone is the error for an attempt of an owner that has released.
var errGone = errors.New("redissonlock: this owner has released the lock")

// TryAcquire implements [driver.Backend]. If this process has just released the key, and others
// have heard of it, TryAcquire first leaves them a moment to take it: see the package comment.
func (b *Backend) TryAcquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g := r.Grant()
	if err := checkRequest(g); err != nil {
		return driver.Grant{}, err
	}
	if r.TTL < time.Millisecond {
		return driver.Grant{}, tooShort(r.TTL)
	}
	b.turns.wait(ctx, r.Key)
	tokens := max(r.Tokens, 1)
	k := keysOf(r.Key)
	a, err := b.run(ctx, b.client, acquireScript, []string{k.lock, k.counter, k.gone},
		r.Owner, r.TTL.Milliseconds(), tokens)
	if !a.known {
		b.inDoubt.Add(r.Owner, doubt.Attempt)
	}
	if err != nil {
		return driver.Grant{}, err
	}
	g.Sent = a.sent
	return b.parseGrant(g, tokens, a)
}

// tooShort returns the error for a TTL that is less than a millisecond.
func tooShort(ttl time.Duration) error {
	return fmt.Errorf("redissonlock: a TTL of %v is less than a millisecond", ttl)
}

// parseGrant fills in g from the reply of acquire.lua, which had asked for so many tokens.
func (b *Backend) parseGrant(g driver.Grant, tokens int, a result) (driver.Grant, error) {
	if status, rest, ok := a.numbers(1); ok {
		switch status[0] {
		case 0:
			if held, ok := parseHeld(a); ok {
				return driver.Grant{}, held
			}
		case 1:
			if n, _, ok := a.numbers(2); ok && n[1] >= int64(tokens) {
				g.LastToken = uint64(n[1])
				g.Token = g.LastToken - uint64(tokens) + 1
				return g, nil
			}
		case 2:
			if len(rest) == 1 {
				return driver.Grant{}, foreign(fmt.Sprint(rest[0]))
			}
		case 3:
			return driver.Grant{}, errGone
		}
	}
	b.inDoubt.Add(g.Owner, doubt.Attempt)
	return driver.Grant{}, fmt.Errorf("redissonlock: acquire answered %q", a.value)
}

// parseHeld parses the reply to an attempt that was refused.
func parseHeld(a result) (*driver.HeldError, bool) {
	n, rest, ok := a.numbers(3)
	if !ok || len(rest) != 1 {
		return nil, false
	}
	held := &driver.HeldError{RetryAfter: time.Duration(n[1]) * time.Millisecond}
	if n[2] > 0 {
		held.Held = time.Duration(n[2]) * time.Microsecond
	}
	for _, f := range fieldsOf(rest[0]) {
		_, held.Holder, _ = holder(f.name, f.holds)
	}
	return held, true
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
