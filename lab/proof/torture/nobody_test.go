package torture

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
)

// goneOwners are the owners that have given their keys back: none has its key again, also if an
// attempt or a renewal of it arrives late.
type goneOwners struct {
	mu    sync.Mutex
	at    map[string]int64 // the times of the releases, by key and owner
	found []string
}

// releases is redislock with the releases that were answered noted.
type releases struct {
	*redislock.Backend
	gone *goneOwners
}

func (r releases) Release(ctx context.Context, g driver.Grant) error {
	err := r.Backend.Release(ctx, g)
	if err == nil || errors.Is(err, driver.ErrLost) {
		r.gone.mu.Lock()
		r.gone.at[g.Key+" "+g.Owner] = now()
		r.gone.mu.Unlock()
	}
	return err
}

// forget is called when the server loses data.
func (o *goneOwners) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.at = make(map[string]int64)
}

// watch looks for keys of nobody until done is closed.
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

// look looks whether an owner has the key that has given it back. A key that an attempt with plain
// commands took is nobody's until another wants it, who finds the tombstone.
func (w *world) look(key string) {
	at := w.clock.now()
	w.server.SetTime(at)
	var owners []string
	if members, err := w.server.ZMembers(key); err == nil {
		for _, member := range members {
			if ends, err := w.server.ZScore(key, member); err == nil && ends > float64(at.UnixMicro()) {
				owners = append(owners, member[2:])
			}
		}
	} else if value, err := w.server.Get(key); err == nil {
		owner, token, _ := strings.Cut(value, " ")
		if _, err := w.server.ZScore("{"+key+"}:gone", owner); err != nil || !strings.HasPrefix(token, "~") {
			owners = append(owners, owner)
		}
	}
	o := &w.gone
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, owner := range owners {
		if at, found := o.at[key+" "+owner]; found {
			delete(o.at, key+" "+owner)
			o.found = append(o.found, fmt.Sprintf("%s is held at %v by an owner who gave it back at %v",
				key, time.Duration(now()-bubbleStart), time.Duration(at-bubbleStart)))
		}
	}
}
