package distlock

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

// Inspector is an ability of a [Backend] that can tell who has which key, and
// take a key away: for operators, dashboards and command lines.
type Inspector interface {
	// Inspect returns the keys with the prefix that are held or waited for, in
	// order of the keys, at most limit of them; which ones, if there are more, is
	// not said. Every key that is held or waited for during the whole call is
	// among them, others may be. With an error comes what was found before.
	Inspect(ctx context.Context, prefix string, limit int) ([]KeyInfo, error)

	// ForceRelease takes the key away from all who have it, and passes it on to
	// those who wait. It returns whether anybody had it. The next renewal of a
	// deposed holder must say [Lost], and its Release must wrap [ErrLost]; every
	// later grant must have a larger token than it.
	ForceRelease(ctx context.Context, key string) (held bool, err error)
}

// KeyInfo is what an [Inspector] knows about a key.
type KeyInfo struct {
	Key string

	// Foreign is set if the key contains something that is not a lock of this
	// package. It is the type as the store calls it, such as "hash". Such a key is
	// listed only if the prefix is the key itself. It has one holder, of which only
	// ExpiresIn may be known.
	Foreign string

	// Mode is how it is held. Semaphore says that those who have it hold permits.
	Mode      Mode
	Semaphore bool

	// Held is how many have it; 0 if it is free and passed on to nobody yet.
	// Holders are these, those whose lease ends first in front; of many, a
	// hundred. Who waits and was passed the key is a holder.
	Held    int
	Holders []HolderInfo

	// Waiting is how many places are taken in the store's line. A process has one
	// for each key, however many of its goroutines wait, except for semaphores and
	// readers with leases of their own. It may count some who have died.
	Waiting int
}

// HolderInfo is what an [Inspector] knows about who has a key.
type HolderInfo struct {
	// Owner tells owners apart: see [Fingerprint].
	Owner string

	// Holder is the name of the holder, or "" if it has none: see [Config].Holder.
	Holder string

	// Token is the first of the tokens that were minted for the owner last; a
	// process that hands the key from one goroutine to the next gives them out one
	// by one. It is 0 if the store does not know it.
	Token uint64

	// Since is when these tokens were minted, by the store's clock: when the key
	// was granted, or when a process that goes on handing it over asked for
	// further tokens. It is zero if the store does not know it.
	Since time.Time

	// ExpiresIn is when the lease ends unless it is renewed; 0 or less if the
	// store does not know, or it never ends.
	ExpiresIn time.Duration
}

// Fingerprint is a short text by which an owner can be told from others, and that
// can be shown to anybody, which an owner cannot: who knows it can release its
// lock. It is part of a SHA-256 digest, in hex.
func Fingerprint(owner string) string {
	digest := sha256.Sum256([]byte(owner))
	return hex.EncodeToString(digest[:6])
}

// Fingerprint is that of the lease's owner in the store, as [Locker.Inspect] shows
// it. Those who have the lease one after the other by a hand-over in this process
// share it, and so do its re-entries and the readers who ride on it.
func (s *Lease) Fingerprint() string { return Fingerprint(s.hold.grant.Owner) }

// MaxHolderInfos is how many holders a [KeyInfo] lists at most.
const MaxHolderInfos = 100

// Inspect lists the keys with the prefix that are held or waited for, at most
// limit of them, which must be positive; an empty prefix is every key. They are
// full keys. The answer is as old as the call: a key may have changed hands since.
// It is for people to look at; no program should decide by it who holds what,
// except who leads, to be shown or called.
//
// In a store with many keys it may take long: let ctx have a deadline. The error
// wraps [errors.ErrUnsupported] if the backend is no [Inspector], [ErrClosed], the
// error of ctx, or [ErrUnavailable]; what was found before is returned with it.
func (l *Locker) Inspect(ctx context.Context, prefix string, limit int) ([]KeyInfo, error) {
	const op = "inspect"
	if limit < 1 {
		return nil, &Error{Op: op, Key: prefix, Err: fmt.Errorf("limit is %d", limit)}
	}
	var found []KeyInfo
	err := l.inspector(ctx, op, prefix, func(i Inspector) (err error) {
		found, err = i.Inspect(ctx, prefix, limit)
		return err
	})
	return found, err
}

// ForceRelease takes the key, a full one, away from all who hold it, and passes it
// on to those who wait. It returns whether anybody had it. It is a way out where a
// lock is held by something that is stuck, and it breaks a promise: the deposed
// holder is told by its next renewal, up to a third of its KeyTimeout later, and by
// then another may hold the key. A resource that checks [Lease.Token] is safe:
// later tokens are larger than those of the deposed. Of the rest of what MinHold
// keeps nothing is left either.
//
// A value that is not a lock of this package stays: the error wraps [ErrForeign].
// After an error that wraps [ErrUnavailable] it is unknown whether it was done.
// The error wraps [errors.ErrUnsupported] if the backend is no [Inspector], or
// [ErrClosed], or the error of ctx.
func (l *Locker) ForceRelease(ctx context.Context, key string) (held bool, err error) {
	if err := checkKey(key); err != nil {
		return false, err
	}
	err = l.inspector(ctx, "force", key, func(i Inspector) (err error) {
		held, err = i.ForceRelease(ctx, key)
		return err
	})
	return held, err
}

// inspector calls f with the backend's ability.
func (l *Locker) inspector(ctx context.Context, op, key string, f func(Inspector) error) error {
	i, ok := l.backend.(Inspector)
	if !ok {
		return &Error{Op: op, Key: key, Err: fmt.Errorf("the backend %T is no Inspector: %w", l.backend, errors.ErrUnsupported)}
	}
	if !l.life.enter() {
		return &Error{Op: op, Key: key, Err: ErrClosed}
	}
	defer l.life.exit(nil)
	err := f(i)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && errors.Is(err, ctx.Err()), errors.Is(err, ErrForeign):
		return &Error{Op: op, Key: key, Err: err}
	default:
		return &Error{Op: op, Key: key, Err: unavailable(err)}
	}
}
