package lockui

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/bridge"
	"github.com/distlock-go/distlock/internal/clock"
)

const (
	// inspectTimeout limits a request to the store. Each round trip is limited by the backend,
	// but a store with many keys needs many.
	inspectTimeout = 10 * time.Second

	// patience is how long a client waits for its turn and for the answer.
	patience = time.Minute
)

// locksJSON is the locks of a prefix, without the time.
type locksJSON struct {
	Locks      []lockJSON `json:"locks"`
	More       bool       `json:"more"`
	CanRelease bool       `json:"can_release"`
}

// lockJSON is a key.
type lockJSON struct {
	Key     string       `json:"key"`
	Mode    string       `json:"mode"`
	Foreign string       `json:"foreign,omitempty"`
	Held    int          `json:"held"`
	Waiting int          `json:"waiting"` // in the store
	Here    int          `json:"waiting_here"`
	Holders []holderJSON `json:"holders"`
	Waiters []waiterJSON `json:"waiters"`
	Kept    time.Time    `json:"kept_since,omitzero"` // by this process: see driver.KeyInfo
}

// holderJSON is a holder. Unknown fields are omitted.
type holderJSON struct {
	Holder      string    `json:"holder,omitempty"`
	Fingerprint string    `json:"fingerprint,omitempty"`
	Token       uint64    `json:"token,omitempty,string"`
	LastToken   uint64    `json:"last_token,omitempty,string"`
	Since       time.Time `json:"since,omitzero"`
	Until       time.Time `json:"until,omitzero"`
}

// waiterJSON is a waiter. Unknown fields are omitted.
type waiterJSON struct {
	Waiter      string    `json:"waiter,omitempty"`
	Fingerprint string    `json:"fingerprint,omitempty"`
	Mode        string    `json:"mode"`
	Permits     int       `json:"permits,omitempty"`
	Since       time.Time `json:"since,omitzero"`
}

// key answers with the page or with one key.
func (h *Handler) key(w http.ResponseWriter, r *http.Request) error {
	if wantsPage(w, r) {
		return servePage(w, r)
	}
	name, err := textOf(r, "name")
	if err == nil && name == "" {
		err = badRequest("name is missing")
	}
	if err == nil {
		err = h.checkKey(name)
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	found, err := h.inspect(ctx, name, 1) // a key comes before those that it is a prefix of
	if err != nil {
		return err
	}
	if len(found.Locks) == 0 || found.Locks[0].Key != name {
		found.Locks = []lockJSON{h.lockOf(driver.KeyInfo{Key: name}, time.Time{})}
	}
	writeLocks(w, found.encode())
	return nil
}

// wantsPage reports whether the client does not name JSON, as a browser that opens a page.
func wantsPage(w http.ResponseWriter, r *http.Request) bool {
	w.Header().Set("Vary", "Accept")
	accept := strings.ToLower(strings.Join(r.Header.Values("Accept"), ","))
	return !strings.Contains(accept, "application/json")
}

// inspect asks the store for at most limit locks, of which it returns [maxKeys]. The Handler asks
// once at a time, and then leaves the store alone for as long as the answer took: to list the
// locks may cost the store a visit of all its keys. The others wait, in order.
func (h *Handler) inspect(ctx context.Context, prefix string, limit int) (locksJSON, error) {
	select {
	case h.scanning <- struct{}{}:
		defer func() { <-h.scanning }()
	case <-ctx.Done():
		return locksJSON{}, ctx.Err()
	}
	if !clock.Sleep(ctx, time.Until(h.rest)) {
		return locksJSON{}, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, inspectTimeout)
	defer cancel()
	start := time.Now()
	infos, err := admin.Inspect(ctx, h.locker, prefix, limit)
	h.rest = time.Now().Add(time.Since(start))
	if err != nil {
		return locksJSON{}, err
	}
	now := time.Now()
	found := locksJSON{Locks: make([]lockJSON, 0, len(infos)), CanRelease: h.authorize != nil}
	for _, info := range infos {
		switch {
		case !strings.HasPrefix(info.Key, prefix): // whatever the backend does, no other key is shown
		case len(found.Locks) == maxKeys:
			found.More = true
		default:
			found.Locks = append(found.Locks, h.lockOf(info, now))
		}
	}
	return found, nil
}

// waitingHere returns how many callers of this process wait behind another one of it. They
// have no place in the store's queue.
var waitingHere = bridge.Waiting.(func(*distlock.Locker, string) int)

func (h *Handler) lockOf(info driver.KeyInfo, now time.Time) lockJSON {
	l := lockJSON{
		info.Key, info.ModeName(), info.Foreign, info.Held, info.Waiting, waitingHere(h.locker, info.Key),
		make([]holderJSON, 0, len(info.Holders)), make([]waiterJSON, 0, len(info.Waiters)),
		inJSON(info.KeptSince),
	}
	for _, i := range info.Holders {
		holder := holderJSON{Holder: i.Holder, Fingerprint: i.Owner, Token: i.Token, LastToken: i.LastToken, Since: inJSON(i.Since)}
		if i.ExpiresIn > 0 {
			holder.Until = inJSON(now.Add(i.ExpiresIn))
		}
		l.Holders = append(l.Holders, holder)
	}
	// Leases that end at nearly the same time must not change places.
	slices.SortFunc(l.Holders, func(a, b holderJSON) int {
		return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.Fingerprint, b.Fingerprint))
	})
	for _, w := range info.Waiters {
		l.Waiters = append(l.Waiters, waiterJSON{w.Waiter, w.Owner, w.ModeName(), w.Permits, inJSON(w.Since)})
	}
	return l
}

// inJSON returns t as JSON shows it. The zero time stays zero.
func inJSON(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

func writeLocks(w http.ResponseWriter, locks []byte) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(withTime(locks, time.Now()), '\n')) // an error means that the client is gone
}

func (l locksJSON) encode() []byte {
	text, err := json.Marshal(l)
	if err != nil {
		panic("lockui: " + err.Error()) // cannot happen with strings, numbers and times of this century
	}
	return text
}

// withTime adds the time to encoded locks. It is the time of sending: the script of the
// page compares it with its own clock.
func withTime(locks []byte, now time.Time) []byte {
	at := inJSON(now).Format(`{"at":"` + time.RFC3339Nano + `",`)
	return append([]byte(at), locks[1:]...)
}
