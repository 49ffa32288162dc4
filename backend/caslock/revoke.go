package caslock

import (
	"context"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// watcher waits for a holder to be asked to give a key back.
type watcher struct {
	asked chan struct{} // closed when it was asked
	look  chan struct{} // has a value if a message may have been lost
}

// Revoke implements driver.Revoker. It writes a mark, which the next renewal sees; a message
// is faster.
func (b *backend) Revoke(ctx context.Context, key string) (bool, error) {
	r, _, err := b.update(ctx, key, func(r *record) (bool, error) {
		for i := range r.Holders {
			r.Holders[i].Revoked = true
		}
		return len(r.Holders) > 0, nil
	})
	if err != nil {
		return false, err
	}
	for _, h := range r.Holders {
		b.send(h.Reply, &message{Key: key, Owner: h.Owner})
	}
	return len(r.Holders) > 0, nil
}

// Revoked implements driver.Revoker.
func (b *backend) Revoked(ctx context.Context, g driver.Grant) <-chan struct{} {
	b.listen()
	w := &watcher{make(chan struct{}), make(chan struct{}, 1)}
	b.locked(func() { b.watchers[g.Owner] = w })
	go func() {
		defer b.locked(func() {
			if b.watchers[g.Owner] == w {
				delete(b.watchers, g.Owner)
			}
		})
		tick := time.NewTicker(2 * poll)
		defer tick.Stop()
		if b.messenger != nil {
			tick.Stop()
		}
		for {
			select {
			case <-w.look:
			case <-tick.C:
			case <-w.asked:
				return
			case <-ctx.Done():
				return
			case <-b.ctx.Done():
				return
			}
			r, err := b.load(ctx, g.Key)
			if i := find(r.Holders, g.Owner); err == nil && i >= 0 && r.Holders[i].Revoked {
				b.revoke(g.Owner)
			}
		}
	}()
	return w.asked
}

// revoke tells the holder that it is asked to give the key back.
func (b *backend) revoke(owner string) {
	b.locked(func() {
		if w := b.watchers[owner]; w != nil {
			close(w.asked)
			delete(b.watchers, owner)
		}
	})
}
