package driver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// Inspector is an ability of a [Backend] that can list the holders of keys and take a
// key away: for operators, dashboards and command lines.
type Inspector interface {
	// Inspect returns the keys with the prefix that are held or waited for, at most limit of
	// them. If there are more, it is not specified which, except that a key that equals the
	// prefix is among them. Every key that is held or waited for during the whole call is
	// among them, others may be. With an error it returns what was found before. A queue may
	// be long: if the store can count its places, Inspect reads only those that it lists.
	//
	// With limit 0 it must return only a key that equals the prefix. That should cost no
	// more than an attempt, however many keys there are: waiters ask for it.
	// A store that cannot list its keys answers limit 0 alone. With a larger one the error
	// wraps [errors.ErrUnsupported].
	Inspect(ctx context.Context, prefix string, limit int) ([]KeyInfo, error)

	// ForceRelease takes the key away from all its holders and passes it on to those
	// that wait. It returns whether the key was held. The next renewal of a former
	// holder must say [Lost], and its Release must wrap [ErrLost]; every later grant
	// must have a larger token.
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

	// Mode is how it is held. Semaphore reports whether the holders have permits.
	Mode      Mode
	Semaphore bool

	// Held is the number of holders; 0 if the key is free. Holders has at most
	// [MaxHolderInfos] of them, in the order in which their leases end. A waiter that
	// was passed the key is a holder.
	Held    int
	Holders []HolderInfo

	// Waiting is how many places are taken in the store's queue. A process has one
	// for each key, however many of its goroutines wait, except for semaphores and
	// readers with leases of their own. Abandoned places may be counted. Waiters has the
	// first [MaxWaiterInfos] of them, in the order of the queue. Both are empty if the store
	// keeps no queue.
	Waiting int
	Waiters []WaiterInfo

	// KeptSince is set by package admin alone: when a function of this process took the key
	// that still runs, although its lease is over. The key may be free in the store. Callers of
	// this process wait until the function has returned.
	KeptSince time.Time
}

// ModeName returns in a word how the key is held: exclusive, shared, permits or foreign.
func (i *KeyInfo) ModeName() string {
	if i.Foreign != "" {
		return "foreign"
	}
	return modeName(i.Mode, i.Semaphore)
}

func modeName(m Mode, semaphore bool) string {
	if semaphore {
		return "permits"
	}
	return m.String()
}

// HolderInfo is what an [Inspector] knows about one holder of a key.
type HolderInfo struct {
	// Owner identifies the owner without revealing it: see [Fingerprint].
	Owner string

	// Holder is the name of the holder, or "" if it has none.
	Holder string

	// The tokens that were issued to the owner are among Token to LastToken; a process
	// that hands the key from one goroutine to the next gives them out one by one. A store
	// that has recorded one end says the widest range. Both are 0 if the store knows neither.
	Token, LastToken uint64

	// Since is when these tokens were issued, by the store's clock: when the key was
	// granted, or when a process that continues to hand it over asked for more. It is
	// zero if the store does not know it.
	Since time.Time

	// ExpiresIn is when the lease ends unless it is renewed; 0 or less if the
	// store does not know, or it never ends.
	ExpiresIn time.Duration
}

// WaiterInfo is what an [Inspector] knows about one place in the queue of a key.
type WaiterInfo struct {
	// Owner identifies the owner of the place without revealing it: see [Fingerprint]. When
	// the owner is granted the key, [HolderInfo] has the same.
	Owner string

	// Waiter is the name of the waiter, or "" if it has none. It is what Holder will be.
	Waiter string

	// Mode and Permits are what it asks for: see [Sharing].
	Mode    Mode
	Permits int

	// Since is when it took its place, by the store's clock. It is zero if the store does
	// not know it.
	Since time.Time
}

// ModeName returns in a word what the waiter asks for: exclusive, shared or permits.
func (i *WaiterInfo) ModeName() string { return modeName(i.Mode, i.Permits > 0) }

// MaxHolderInfos is how many holders a [KeyInfo] lists at most.
const MaxHolderInfos = 100

// MaxWaiterInfos is how many waiters a [KeyInfo] lists at most.
const MaxWaiterInfos = 16

// Fingerprint returns a short text that identifies an owner and is not secret.
// The owner itself is secret: with it, any client can release the lock. The fingerprint is
// part of a SHA-256 digest, in hex.
func Fingerprint(owner string) string {
	digest := sha256.Sum256([]byte(owner))
	return hex.EncodeToString(digest[:6])
}
