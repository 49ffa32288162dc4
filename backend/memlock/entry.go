package memlock

import (
	"cmp"
	"slices"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// entry is a key that is held or waited for. An entry without waiters stays when its
// leases have ended, until the next request for the key or the next sweep.
type entry struct {
	key     string
	sharing driver.Sharing // of the holders
	holders []holder
	one     [1]holder   // the first array of holders: most keys need no more
	queue   []*waiter   // in order of arrival
	timer   *time.Timer // fires when the first of the leases ends; nil before the first waiter
}

// holder is an owner that has the key.
type holder struct {
	owner   string
	expires time.Time // when its lease ends
	token   uint64
	last    uint64
	since   int64         // when it got the key, in nanoseconds of Unix time
	revoked chan struct{} // closed when it was asked to give the key back; nil if that was never of interest
}

// revocation returns the channel that is closed when h is asked to give the key back.
func (h *holder) revocation() chan struct{} {
	if h.revoked == nil {
		h.revoked = make(chan struct{})
	}
	return h.revoked
}

func (h *holder) revoke() {
	c := h.revocation()
	select {
	case <-c: // it was asked before
	default:
		close(c)
	}
}

// extend extends the lease, and never shortens it: the request may be late.
func (h *holder) extend(end time.Time) {
	if end.After(h.expires) {
		h.expires = end
	}
}

func (h *holder) heldAt(now time.Time) bool { return now.Before(h.expires) }

// admits reports whether one more holder with that sharing may have the key.
func (e *entry) admits(sharing driver.Sharing) bool {
	return e.sharing.Admits(len(e.holders), sharing)
}

func (e *entry) find(owner string) *holder {
	i := slices.IndexFunc(e.holders, func(h holder) bool { return h.owner == owner })
	if i < 0 {
		return nil
	}
	return &e.holders[i]
}

// removeHolder reports whether the owner was a holder.
func (e *entry) removeHolder(owner string) bool {
	n := len(e.holders)
	e.holders = slices.DeleteFunc(e.holders, func(h holder) bool { return h.owner == owner })
	return len(e.holders) < n
}

func (e *entry) waiter(owner string) *waiter {
	i := slices.IndexFunc(e.queue, func(w *waiter) bool { return w.request.Owner == owner })
	if i < 0 {
		return nil
	}
	return e.queue[i]
}

// removeWaiter reports whether the owner was a waiter. It stops the timer after the last.
func (e *entry) removeWaiter(owner string) bool {
	n := len(e.queue)
	e.queue = slices.DeleteFunc(e.queue, func(w *waiter) bool { return w.request.Owner == owner })
	if n > 0 && len(e.queue) == 0 {
		e.timer.Stop()
	}
	return len(e.queue) < n
}

// prune removes holders with expired leases. It reports whether there were any.
func (e *entry) prune(now time.Time) bool {
	n := len(e.holders)
	e.holders = slices.DeleteFunc(e.holders, func(h holder) bool { return !h.heldAt(now) })
	return len(e.holders) < n
}

// firstExpiry returns when the first of the leases ends. There must be a holder.
func (e *entry) firstExpiry() time.Time { return slices.MinFunc(e.holders, byExpiry).expires }

func byExpiry(a, b holder) int { return a.expires.Compare(b.expires) }

// retryAfter returns the time until a request with that sharing could have the key if
// that were neither renewed nor released.
func (e *entry) retryAfter(sharing driver.Sharing, now time.Time) time.Duration {
	if len(e.holders) == 0 {
		return 0
	}
	if e.sharing.Permits > 0 && sharing.Permits > 0 {
		return e.firstExpiry().Sub(now)
	}
	return slices.MaxFunc(e.holders, byExpiry).expires.Sub(now)
}

// heldError says why a request with that sharing cannot have the key. It names the
// holder that has had the key for the longest time.
func (e *entry) heldError(sharing driver.Sharing, now time.Time) *driver.HeldError {
	err := &driver.HeldError{RetryAfter: e.retryAfter(sharing, now)}
	if len(e.holders) > 0 {
		h := &e.holders[0]
		err.Holder, err.Held = driver.HolderOf(h.owner), time.Duration(now.UnixNano()-h.since)
	}
	return err
}

func (e *entry) grant(h *holder, sharing driver.Sharing, ttl time.Duration, now time.Time) driver.Grant {
	return driver.Grant{
		Key: e.key, Owner: h.owner, TTL: ttl, Mode: sharing.Mode, Permits: sharing.Permits,
		Token: h.token, LastToken: h.last, Sent: now, Contended: len(e.queue) > 0,
	}
}

// inspect describes the key. It changes nothing: holders with expired leases stay until
// the next request for the key.
func (e *entry) inspect(now time.Time) driver.KeyInfo {
	info := driver.KeyInfo{Key: e.key, Waiting: len(e.queue)}
	for i := range e.holders {
		if h := &e.holders[i]; h.heldAt(now) {
			info.Holders = append(info.Holders, driver.HolderInfo{
				Owner: driver.Fingerprint(h.owner), Holder: driver.HolderOf(h.owner), Token: h.token, LastToken: h.last,
				Since: time.Unix(0, h.since), ExpiresIn: h.expires.Sub(now),
			})
		}
	}
	slices.SortStableFunc(info.Holders, func(a, b driver.HolderInfo) int { return cmp.Compare(a.ExpiresIn, b.ExpiresIn) })
	if info.Held = len(info.Holders); info.Held > 0 {
		info.Mode, info.Semaphore = e.sharing.Mode, e.sharing.Permits > 0
	}
	if info.Held > driver.MaxHolderInfos {
		info.Holders = slices.Clone(info.Holders[:driver.MaxHolderInfos])
	}
	for _, w := range e.queue[:min(len(e.queue), driver.MaxWaiterInfos)] {
		info.Waiters = append(info.Waiters, driver.WaiterInfo{
			Owner: driver.Fingerprint(w.request.Owner), Waiter: driver.HolderOf(w.request.Owner),
			Mode: w.request.Mode, Permits: w.request.Permits, Since: w.since,
		})
	}
	return info
}

// waiter is a place in a queue. It outlives the Acquire that made it: an Acquire that
// comes back with the same owner has the same place. If its turn comes between two
// calls, the waiter is granted the key all the same: the next Acquire finds the grant,
// Release passes it on, and otherwise it expires.
type waiter struct {
	request driver.Request
	since   time.Time         // when it took its place
	turn    chan driver.Grant // receives the grant
}
