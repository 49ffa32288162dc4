package sqllock

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// How long a place in the queue lasts without its waiter, in microseconds.
const (
	// turnLasts is how long a key that no exclusive holder has is kept for a waiter
	// that may have died. It is as long as for a message in redislock. A waiter looks
	// several times in it.
	turnLasts = int64(600 * time.Millisecond / time.Microsecond)

	awayAfter = int64(5 * time.Second / time.Microsecond)  // others may overtake it in any case
	deadAfter = int64(60 * time.Second / time.Microsecond) // it is deleted, and so is a tombstone
)

// entry is a key with its members, as the database has it at one moment. Its methods
// decide without SQL: they change the entry, and the caller writes the difference. All
// times are the database's, in microseconds since 1970.
type entry struct {
	key     string
	now     int64
	guarded bool // Guard was called for the key; not in SQLite
	frozen  bool // Guard keeps the exclusive holder, even if its lease has ended
	patient bool // the request does not overtake a waiter that may only be late
	adopted bool // the exclusive holder has handed its lease off to the present one

	row
	members []member // in order of arrival

	// In a list, how many members share the key or wait; members has the first.
	sharers, waiters int
}

// row is what the row of a key says. It is zero without one.
type row struct {
	owner   string // the exclusive holder, or empty
	prior   int64  // the last token before the holder had the key
	token   int64  // the last token that was issued
	since   int64
	expires int64 // when its lease ends; without an exclusive holder, when an owner last left
	busy    int64 // how many members there are
}

// member is an owner that waits, or shares the key, or has a tombstone: it was released
// while an attempt had no answer, and is refused if the attempt arrives.
type member struct {
	owner   string
	ticket  int64
	sharing driver.Sharing
	prior   int64
	token   int64 // 0: it waits; tombstoneToken: it has a tombstone
	since   int64
	expires int64 // if it waits, when it last asked; if it has a tombstone, when it was released
}

// tombstoneToken is the token of an owner with a tombstone.
const tombstoneToken = -1

func (m *member) waits() bool       { return m.token == 0 }
func (m *member) holds() bool       { return m.token > 0 }
func (m *member) isTombstone() bool { return m.token == tombstoneToken }

// prune removes what has ended: holders, places in the queue, and tombstones.
func (e *entry) prune() {
	if e.owner != "" && e.expires <= e.now && !e.frozen {
		e.owner = ""
	}
	e.members = slices.DeleteFunc(e.members, func(m member) bool {
		if !m.holds() {
			return m.expires <= e.now-deadAfter
		}
		if m.expires > e.now {
			return false
		}
		e.left(m.expires)
		return true
	})
}

// left notes that an owner has left the key, so that the time of the waiters to look
// begins. The end of an exclusive lease says that by itself.
func (e *entry) left(at int64) {
	if e.owner == "" {
		e.expires = max(e.expires, at)
	}
}

func (e *entry) find(owner string) *member {
	i := slices.IndexFunc(e.members, func(m member) bool { return m.owner == owner })
	if i < 0 {
		return nil
	}
	return &e.members[i]
}

// held returns how many holders the key has, and how they share it.
func (e *entry) held() (n int, s driver.Sharing) {
	for _, h := range e.holders() {
		n, s = n+1, h.sharing
	}
	return n, s
}

// lapses returns when others may overtake a waiter, unless it looks before. While
// another owner has the key for itself, the waiter has nothing to look for, and looks
// seldom.
func (e *entry) lapses(m *member) int64 {
	if e.owner != "" || e.patient {
		return m.expires + awayAfter
	}
	return min(m.expires+awayAfter, max(m.expires, e.expires)+turnLasts)
}

// counts reports whether m waits, and others may not overtake it.
func (e *entry) counts(m *member) bool { return m.waits() && e.lapses(m) > e.now }

// before yields the waiters that came before the owner and that it may not overtake, in
// order of arrival. They are all such waiters if the owner is not one.
func (e *entry) before(owner string) iter.Seq[*member] {
	return func(yield func(*member) bool) {
		for i := range e.members {
			m := &e.members[i]
			if m.owner == owner || e.counts(m) && !yield(m) {
				return
			}
		}
	}
}

// ahead returns how many waiters came before the owner.
func (e *entry) ahead(owner string) (n int) {
	for range e.before(owner) {
		n++
	}
	return n
}

// admitted returns the waiters that may have the key now, in order of arrival. Waiters
// that are away do not count: the others overtake them.
func (e *entry) admitted() (owners []string) {
	n, s := e.held()
	for m := range e.before("") {
		if !s.Admits(n, m.sharing) {
			break
		}
		n, s = n+1, m.sharing
		owners = append(owners, m.owner)
	}
	return owners
}

// admits reports whether a request may have the key now. It waits behind all waiters
// that came before, so that they find room when they ask.
func (e *entry) admits(r *driver.Request) bool {
	n, s := e.held()
	for m := range e.before(r.Owner) {
		if !s.Admits(n, m.sharing) {
			return false
		}
		n, s = n+1, m.sharing
	}
	return s.Admits(n, r.Sharing())
}

// opens returns when the owner of r may have the key, if none of the waiters before it
// looks; 0 if a holder keeps it from that.
func (e *entry) opens(r *driver.Request) (at int64) {
	if n, s := e.held(); !s.Admits(n, r.Sharing()) {
		return 0
	}
	for m := range e.before(r.Owner) {
		at = max(at, e.lapses(m))
	}
	return at
}

// waiting returns how many others wait.
func (e *entry) waiting(owner string) (n int) {
	for i := range e.members {
		if m := &e.members[i]; m.waits() && m.owner != owner && m.expires > e.now-awayAfter {
			n++
		}
	}
	return n
}

// overtake notes that the owner gets the key before waiters that are away. Each of them
// keeps its place, and costs the others no time again unless it looks.
func (e *entry) overtake(owner string) {
	for i := range e.members {
		m := &e.members[i]
		if m.owner == owner {
			return
		}
		if m.waits() && !e.counts(m) {
			m.expires = min(m.expires, e.now-awayAfter)
		}
	}
}

// issue issues n tokens and returns the last of them.
func (e *entry) issue(n int) int64 {
	e.token = max(e.token+int64(max(n, 1)), e.now)
	return e.token
}

// acquire grants the key to the request if it can. An owner that has the key gets more
// tokens and at least a full TTL: the reply before may have been lost. The entry must
// be pruned.
func (e *entry) acquire(r *driver.Request) (g driver.Grant, ok bool) {
	ends := e.now + r.TTL.Microseconds()
	m := e.find(r.Owner)
	prior := e.token
	switch {
	case m != nil && m.isTombstone():
		return driver.Grant{}, false
	case e.owner == r.Owner:
		e.expires = max(e.expires, ends)
		g = grantOf(r, e.issue(r.Tokens))
	case m != nil && m.holds():
		m.token, m.expires = e.issue(r.Tokens), max(m.expires, ends)
		g = grantOf(r, m.token)
	case !e.admits(r):
		return driver.Grant{}, false
	case r.Sharing() == driver.Sharing{}:
		e.overtake(r.Owner)
		e.leave(r.Owner)
		e.owner, e.prior, e.since, e.expires = r.Owner, prior, e.now, ends
		g = grantOf(r, e.issue(r.Tokens))
	default:
		e.overtake(r.Owner)
		if m == nil {
			m = e.join(r)
		}
		m.sharing, m.prior, m.since, m.expires, m.token = r.Sharing(), prior, e.now, ends, e.issue(r.Tokens)
		g = grantOf(r, m.token)
	}
	g.Contended = e.waiting(r.Owner) > 0
	return g, true
}

// adopt puts the owner of r in the place of r.From, which has handed its lease off, and
// extends the lease. It reports whether either had it. The entry must be pruned.
func (e *entry) adopt(r *driver.Request) bool {
	m := e.find(r.From)
	switch late := e.find(r.Owner); {
	case late != nil && late.isTombstone():
		return false
	case e.owner == r.From:
		e.owner, e.adopted = r.Owner, true
		e.addTombstone(r.From)
	case m != nil && m.holds():
		m.owner = r.Owner
		e.addTombstone(r.From)
	}
	ends := e.now + r.TTL.Microseconds()
	switch m := e.find(r.Owner); {
	case e.owner == r.Owner:
		e.expires = max(e.expires, ends)
	case m != nil && m.holds():
		m.expires = max(m.expires, ends)
	default:
		return false
	}
	return true
}

// grantOf returns the grant of r with the tokens that end with last.
func grantOf(r *driver.Request, last int64) driver.Grant {
	g := r.Grant()
	g.LastToken = uint64(last)
	g.Token = g.LastToken - uint64(max(r.Tokens, 1)) + 1
	return g
}

// join adds the owner of r at the end.
func (e *entry) join(r *driver.Request) *member {
	ticket := int64(1)
	if n := len(e.members); n > 0 {
		ticket = e.members[n-1].ticket + 1
	}
	e.members = append(e.members, member{owner: r.Owner, ticket: ticket, sharing: r.Sharing()})
	return &e.members[len(e.members)-1]
}

// enqueue gives the owner of r a place in the queue, or keeps its place. An owner
// with a tombstone gets none.
func (e *entry) enqueue(r *driver.Request) {
	m := e.find(r.Owner)
	if m == nil {
		m = e.join(r)
		m.since = e.now
	}
	if !m.isTombstone() {
		m.sharing, m.expires = r.Sharing(), e.now
	}
}

// leave removes the owner from the members, and reports that. A tombstone stays.
func (e *entry) leave(owner string) bool {
	n := len(e.members)
	e.members = slices.DeleteFunc(e.members, func(m member) bool { return m.owner == owner && !m.isTombstone() })
	if len(e.members) < n {
		e.left(e.now)
	}
	return len(e.members) < n
}

// release takes the key, or the place in the queue, from the owner. It reports whether
// the owner had one.
func (e *entry) release(owner string) bool {
	if e.owner == owner {
		e.owner, e.expires = "", e.now
		return true
	}
	return e.leave(owner)
}

// addTombstone gives the owner, which was released, a tombstone.
func (e *entry) addTombstone(owner string) {
	if e.find(owner) == nil {
		m := e.join(&driver.Request{Owner: owner})
		m.token, m.since, m.expires = tombstoneToken, e.now, e.now
	}
}

// force takes the key from all holders. It reports whether there were any.
func (e *entry) force() bool {
	n, _ := e.held()
	if n > 0 {
		e.owner, e.expires = "", e.now
	}
	e.members = slices.DeleteFunc(e.members, func(m member) bool { return m.holds() })
	return n > 0
}

// heldError says why a request with that sharing cannot have the key. It names the
// holder that has had the key for the longest time.
func (e *entry) heldError(sharing driver.Sharing) *driver.HeldError {
	holders := e.holders()
	if len(holders) == 0 {
		return &driver.HeldError{}
	}
	first := slices.MinFunc(holders, func(a, b member) int { return cmp.Compare(a.since, b.since) })
	byEnd := func(a, b member) int { return cmp.Compare(a.expires, b.expires) }
	ends := slices.MaxFunc(holders, byEnd).expires
	if holders[0].sharing.Permits > 0 && sharing.Permits > 0 {
		ends = slices.MinFunc(holders, byEnd).expires
	}
	return &driver.HeldError{
		RetryAfter: max(0, micros(ends-e.now)), Held: max(0, micros(e.now-first.since)), Holder: driver.HolderOf(first.owner),
	}
}

func (e *entry) holders() (holders []member) {
	if e.owner != "" {
		holders = append(holders, member{owner: e.owner, prior: e.prior, token: e.token, since: e.since, expires: e.expires})
	}
	for _, m := range e.members {
		if m.holds() {
			holders = append(holders, m)
		}
	}
	return holders
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
