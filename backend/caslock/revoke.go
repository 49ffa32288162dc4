package caslock

import (
	"context"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// watcher waits for a holder to be asked to give a key back.
type watcher struct {
	b          *backend
	key, owner string
	asked      chan struct{} // closed when it was asked
}

// Revoke implements driver.Revoker. It writes a mark, which the next renewal sees; a message
// is faster.
func (b *backend) Revoke(ctx context.Context, key string) (bool, error) {
	r, err := b.update(ctx, key, "", false, func(r *record) (bool, error) {
		for i := range r.Holders {
			r.Holders[i].Revoked = true
		}
		return len(r.Holders) > 0, nil
	})
	if err != nil {
		return false, err
	}
	for _, h := range r.Holders {
		b.send(h.Reply, &message{Kind: giveUp, Key: key, Owner: h.Owner})
	}
	return len(r.Holders) > 0, nil
}

// Revoked implements driver.Revoker.
func (b *backend) Revoked(ctx context.Context, g driver.Grant) <-chan struct{} {
	b.listen()
	w := &watcher{b: b, key: g.Key, owner: g.Owner, asked: make(chan struct{})}
	b.mu.Lock()
	b.watchers[g.Owner] = w
	b.mu.Unlock()
	context.AfterFunc(ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.watchers[g.Owner] == w {
			delete(b.watchers, g.Owner)
		}
	})
	if b.messenger == nil {
		go w.poll(ctx)
	}
	return w.asked
}

func (w *watcher) poll(ctx context.Context) {
	tick := time.NewTicker(2 * poll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.b.ctx.Done():
			return
		case <-w.asked:
			return
		case <-tick.C:
			w.look()
		}
	}
}

// look tells the holder if it was asked.
func (w *watcher) look() {
	r, err := w.b.load(w.b.ctx, w.key)
	if i := find(r.Holders, w.owner); err == nil && i >= 0 && r.Holders[i].Revoked {
		w.b.revoke(w.owner)
	}
}

// revoke tells the holder that it is asked to give the key back.
func (b *backend) revoke(owner string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if w := b.watchers[owner]; w != nil {
		close(w.asked)
		delete(b.watchers, owner)
	}
}
