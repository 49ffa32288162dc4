package caslock

import (
	"context"

	"github.com/distlock-go/distlock/driver"
)

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
	asked, look := make(chan struct{}), make(chan struct{}, 1)
	b.locked(func() { b.watches[look] = g.Owner })
	go func() {
		defer b.locked(func() { delete(b.watches, look) })
		for {
			select {
			case <-look:
			case <-ctx.Done():
				return
			case <-b.background.Done():
				return
			}
			r, err := b.load(ctx, g.Key)
			if h := find(r.Holders, g.Owner); err == nil && (h != nil && h.Revoked || find(r.Taken, g.Owner) != nil) {
				close(asked)
				return
			}
		}
	}()
	return asked
}
