package memlock

import (
	"slices"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// entry is a key that owners have, or had until their leases ended and nobody has
// asked since.
type entry struct {
	key     string
	kind    kind // of those who have it
	holders []holder
	one     [1]holder // what holders begins with: most keys need no more
	line    line
}

// holder is an owner who has the key.
type holder struct {
	owner   string
	expires time.Time // when its lease ends
	token   uint64
	last    uint64
	since   int64 // when it got it, in nanoseconds of Unix time
}

// kind says who may have a key together.
type kind struct {
	mode    driver.Mode
	permits int
}

func kindOf(r *driver.Request) kind { return kind{r.Mode, r.Permits} }

// fits reports whether one more of that kind may have the key beside those who
// have it now.
func (e *entry) fits(k kind) bool {
	switch n := len(e.holders); {
	case n == 0:
		return true
	case e.kind.permits > 0:
		return n < k.permits
	default:
		return e.kind.mode == driver.Shared && k.mode == driver.Shared
	}
}

// find returns owner's place among the holders, or -1.
func (e *entry) find(owner string) int {
	return slices.IndexFunc(e.holders, func(h holder) bool { return h.owner == owner })
}

// prune takes out those whose lease has ended, and reports whether there were any.
func (e *entry) prune(now time.Time) bool {
	n := len(e.holders)
	e.holders = slices.DeleteFunc(e.holders, func(h holder) bool { return !h.heldAt(now) })
	return len(e.holders) < n
}

// nextEnd is when the next of the leases ends; there must be one.
func (e *entry) nextEnd() time.Time {
	end := e.holders[0].expires
	for i := range e.holders {
		if x := e.holders[i].expires; x.Before(end) {
			end = x
		}
	}
	return end
}

// left is after how long one of that kind could have the key if nobody renewed or
// released.
func (e *entry) left(k kind, now time.Time) time.Duration {
	if len(e.holders) == 0 {
		return 0
	}
	if e.kind.permits > 0 && k.permits > 0 {
		return e.nextEnd().Sub(now)
	}
	var end time.Time
	for i := range e.holders {
		if x := e.holders[i].expires; x.After(end) {
			end = x
		}
	}
	return end.Sub(now)
}

// held returns why a request of that kind cannot have the key. It names the holder that
// has had the key for the longest time.
func (e *entry) held(k kind, now time.Time) *driver.HeldError {
	err := &driver.HeldError{RetryAfter: e.left(k, now)}
	if len(e.holders) > 0 {
		h := &e.holders[0]
		err.Holder, err.Held = driver.HolderOf(h.owner), time.Duration(now.UnixNano()-h.since)
	}
	return err
}

func (h *holder) heldAt(now time.Time) bool { return now.Before(h.expires) }

func (h *holder) grant(e *entry, k kind, ttl time.Duration, now time.Time) driver.Grant {
	return driver.Grant{
		Key: e.key, Owner: h.owner, TTL: ttl, Mode: k.mode, Permits: k.permits,
		Token: h.token, LastToken: h.last, Sent: now, Contended: e.line.first != nil,
	}
}
