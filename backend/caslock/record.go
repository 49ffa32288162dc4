package caslock

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// form is the version of the form of a record. A record of a later form is refused.
const form = 1

// record is the value of a cell: what is known of a key, or of its line. See docs/record.md.
type record struct {
	Form    int     `json:"form"`
	Count   uint64  `json:"count"` // rises with every write and every token
	Holders []lease `json:"holders,omitempty"`
	Waiting bool    `json:"waiting,omitempty"` // somebody may be in the line
	Taken   []lease `json:"taken,omitempty"`   // former holders, from which the key was taken
	Places  []lease `json:"places,omitempty"`  // the line, in a cell of its own

	version string
	fresh   bool          // it was read for this decision
	idle    time.Duration // for which this process has known that nobody else has the key
}

// lease is a holder, a former holder, or a place in a line. It has ended when somebody has
// seen the same beat for its TTL, on one clock: no two clocks are compared.
type lease struct {
	Owner   string `json:"owner"`
	TTL     int64  `json:"ttl"`  // in milliseconds
	Beat    uint64 `json:"beat"` // the count of the write that extended it
	Token   uint64 `json:"token,omitempty"`
	Tokens  uint64 `json:"tokens,omitempty"`
	Since   int64  `json:"since"` // in milliseconds of Unix time, for people
	Shared  bool   `json:"shared,omitempty"`
	Permits int    `json:"permits,omitempty"`
	Revoked bool   `json:"revoked,omitempty"`
	Reply   string `json:"reply,omitempty"` // the topic to which its process listens

	left time.Duration
}

func (l *lease) sharing() driver.Sharing {
	s := driver.Sharing{Permits: l.Permits}
	if l.Shared {
		s.Mode = driver.Shared
	}
	return s
}

// extend makes the lease last for ttl from this write on, and shortens nothing.
func (l *lease) extend(ttl time.Duration, count uint64) {
	l.TTL, l.Beat = millis(max(ttl, l.left)), count
}

// issue gives the lease n new tokens. Those of the record begin with its count.
func (l *lease) issue(r *record, n int) {
	l.Token, l.Tokens, l.Since = r.Count, uint64(min(max(n, 1), driver.MaxTokens)), time.Now().UnixMilli()
	r.Count += l.Tokens - 1
}

// grant completes g, whose write was sent at that time.
func (l *lease) grant(g driver.Grant, sent time.Time) driver.Grant {
	g.Sent, g.Token, g.LastToken = sent, l.Token, l.Token+l.Tokens-1
	return g
}

func millis(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }

func parse(value []byte) (r record, err error) {
	if len(value) == 0 {
		return r, nil
	}
	if err := json.Unmarshal(value, &r); err != nil || r.Form < 1 || r.Form > form {
		return record{}, fmt.Errorf("%w: its value is not a record of locks in a form that this version knows, which is %d", driver.ErrForeign, form)
	}
	return r, nil
}

// step begins a write. The count follows the clock, so that the tokens rise even if the cell
// was lost.
func (r *record) step() { r.Count = max(r.Count+1, uint64(time.Now().UnixMicro())) }

// encode returns the text of a record, a place or a message.
func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic("caslock: " + err.Error()) // text and numbers can be encoded
	}
	return text
}

// turnTime is how long a free key is kept for the first in the line. After that the second
// may have it, and so on.
const turnTime = time.Second

// turn returns how many of the places could become holders now, in their order, and whether
// somebody with s could join behind the last place.
func (r *record) turn(line []lease, s driver.Sharing) (places int, more bool) {
	n, now := len(r.Holders), driver.Sharing{}
	if n > 0 {
		now = r.Holders[0].sharing()
	}
	for i := range line {
		asks := line[i].sharing()
		if !now.Admits(n, asks) {
			return i, false
		}
		n, now = n+1, asks
	}
	return len(line), now.Admits(n, s)
}

// held says why somebody with s cannot have the key.
func (r *record) held(s driver.Sharing) *driver.HeldError {
	e := &driver.HeldError{}
	if len(r.Holders) > 0 {
		h := &r.Holders[0]
		e.Holder, e.Held = driver.HolderOf(h.Owner), max(0, time.Since(time.UnixMilli(h.Since)))
		if e.RetryAfter = slices.MaxFunc(r.Holders, sooner).left; s.Permits > 0 && h.Permits > 0 {
			e.RetryAfter = slices.MinFunc(r.Holders, sooner).left
		}
	}
	return e
}

// sooner compares the ends of leases.
func sooner(x, y lease) int { return cmp.Compare(x.left, y.left) }

// find returns the lease of the owner, or nil.
func find(all []lease, owner string) *lease {
	if i := place(all, owner); i >= 0 {
		return &all[i]
	}
	return nil
}

// place returns the index of the lease of the owner, or -1.
func place(all []lease, owner string) int {
	return slices.IndexFunc(all, func(l lease) bool { return l.Owner == owner })
}

func without(all []lease, owners ...string) []lease {
	return slices.DeleteFunc(slices.Clone(all), func(l lease) bool { return slices.Contains(owners, l.Owner) })
}
