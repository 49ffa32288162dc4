package torture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/driver"
)

// goneOwners are the owners that have given their keys back: none has its key again, also if an
// attempt or a renewal of it arrives late.
type goneOwners struct {
	mu    sync.Mutex
	asked map[string]int64 // when the releases were sent, by key and owner
	at    map[string]int64 // when they were answered
	stays map[string]bool  // owners whose leases were renewed
	found []string
}

// ability is what redislock can do.
type ability interface {
	driver.Backend
	driver.Queuer
	driver.Extender
	driver.Inspector
	driver.Revoker
	driver.Pinger
	io.Closer
}

// noted is redislock with the releases noted.
type noted struct {
	ability
	gone *goneOwners
	wire *wire
}

// Renew implements [driver.Backend]. The Locker sends no renewal after a release: it could overtake
// it. The last renewal because of MinHold is a release.
func (b noted) Renew(ctx context.Context, grants []driver.Grant, report func(int, error)) {
	b.gone.mu.Lock()
	for _, g := range grants {
		id := g.Key + " " + g.Owner
		switch at, found := b.gone.asked[id]; {
		case !found && g.Retain:
			b.gone.asked[id] = now()
		case found && !g.Retain && at < now():
			b.gone.find("%s is renewed at %v for an owner who released it at %v", g.Key, now(), at)
		case !found && b.gone.stays[id]:
			b.wire.renews(g.TTL)
		default:
			b.gone.stays[id] = true
		}
	}
	b.gone.mu.Unlock()
	b.ability.Renew(ctx, grants, report)
}

// Release implements [driver.Backend].
func (b noted) Release(ctx context.Context, g driver.Grant) error {
	id := g.Key + " " + g.Owner
	b.gone.mu.Lock()
	if _, found := b.gone.asked[id]; !found {
		b.gone.asked[id] = now()
	}
	b.gone.mu.Unlock()
	err := b.ability.Release(ctx, g)
	b.gone.mu.Lock()
	defer b.gone.mu.Unlock()
	_, known := b.gone.asked[id] // otherwise the server may have lost what it has answered
	if known && (err == nil || errors.Is(err, driver.ErrLost)) {
		b.gone.at[id] = now()
	}
	return err
}

// find notes what is wrong with a key, and since when and because of what time. The caller has the
// mutex.
func (o *goneOwners) find(format, key string, at, since int64) {
	o.found = append(o.found, fmt.Sprintf(format, key, time.Duration(at-bubbleStart), time.Duration(since-bubbleStart)))
}

// forget is called when the server loses data.
func (o *goneOwners) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked, o.at, o.stays = make(map[string]int64), make(map[string]int64), make(map[string]bool)
}

// watch looks at what the server has until done is closed.
func (w *world) watch(done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		case <-time.After(20 * time.Millisecond):
		}
		for key := range w.rig.setup.keys {
			w.look(keyName(key))
		}
	}
}

// look looks whether an owner has the key that has given it back, and whether one that trusts its
// lease does not have it.
func (w *world) look(key string) {
	owners, kept := w.owners(key)
	o := &w.gone
	o.mu.Lock()
	for _, owner := range kept {
		if at, found := o.at[key+" "+owner]; found {
			delete(o.at, key+" "+owner)
			o.find("%s is held at %v by an owner who gave it back at %v", key, now(), at)
		}
	}
	o.mu.Unlock()
	for i, owner := range owners {
		owners[i] = driver.Fingerprint(owner)
	}
	w.mu.Lock()
	processes := slices.Clone(w.processes)
	w.mu.Unlock()
	for _, p := range processes {
		if !p.dead() {
			p.look(key, owners)
		}
	}
}

// owners returns the owners that have a key, and those of them that keep it. A key that an attempt
// with plain commands took is nobody's until another wants it, who finds the tombstone.
func (w *world) owners(key string) (owners, kept []string) {
	at := w.clock.now()
	w.server.SetTime(at)
	if members, err := w.server.ZMembers(key); err == nil {
		for _, member := range members {
			if ends, err := w.server.ZScore(key, member); err == nil && ends > float64(at.UnixMicro()) {
				owners = append(owners, member[2:])
			}
		}
		return owners, owners
	}
	value, err := w.server.Get(key)
	if err != nil {
		return nil, nil
	}
	owner, token, _ := strings.Cut(value, " ")
	owners = []string{owner}
	if _, err := w.server.ZScore("{"+key+"}:gone", owner); err == nil && strings.HasPrefix(token, "~") {
		return owners, nil
	}
	return owners, slices.Clone(owners)
}

// look notes the leases of a key that the process trusts, and whose owners do not have it.
func (p *puppet) look(key string, owners []string) {
	p.kid.mu.Lock()
	defer p.kid.mu.Unlock()
	for _, t := range p.inside {
		for i := range t.parts {
			l := t.parts[i].lease
			if l.Key() == key && l.Context().Err() == nil && time.Now().Before(l.Until()) && !slices.Contains(owners, admin.Fingerprint(l)) {
				p.gone = append(p.gone, entry{Time: now(), What: sawGone, Lease: t.parts[i].at.Lease})
			}
		}
	}
}
