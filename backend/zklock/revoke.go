package zklock

import (
	"bytes"
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/clock"
)

// Revoke implements [driver.Revoker]. It writes Curator's message into the nodes of the
// holders, so it also asks a holder that uses Curator's makeRevocable. The message is
// not lost: a holder that listens later is told, and a process that was asked does not
// extend its lock for another goroutine.
func (b *backend) Revoke(ctx context.Context, key string) (bool, error) {
	return b.eachHolder(ctx, key, b.ask)
}

// ask writes the message into the node n at path, unless its owner is done. It returns
// false if there is no such node.
func (b *backend) ask(ctx context.Context, path string, n node) (existed bool, err error) {
	for {
		found, err := b.link.content(path).wait(ctx)
		if err != nil || found.stat.Czxid == 0 || n.kept {
			return n.kept && found.stat.Czxid != 0, err
		}
		message := revokeMessage
		if n.ours {
			message += holderName(found.data)
		}
		switch _, err = b.link.set(path, []byte(message), found.stat.Version).wait(ctx); {
		case errors.Is(err, zk.ErrNoNode):
			return false, nil
		case !errors.Is(err, zk.ErrBadVersion): // otherwise the holder has extended its lock meanwhile
			return err == nil, err
		}
	}
}

// Revoked implements [driver.Revoker]. It watches the data of the owner's node.
func (b *backend) Revoked(ctx context.Context, g driver.Grant) <-chan struct{} {
	asked := make(chan struct{})
	if lock, ok := b.table.HeldBy(&g); ok {
		b.background.Run(func() {
			if b.awaitMessage(ctx, lock.Place) {
				close(asked)
			}
		})
	}
	return asked
}

// awaitMessage waits until a node contains the message, or is deleted: then the owner does not
// have the key any more. It returns false if ctx ends first.
func (b *backend) awaitMessage(ctx context.Context, path string) bool {
	for b.background.Err() == nil && ctx.Err() == nil {
		w, err := b.watches.add(ctx, path)
		switch {
		case err != nil: // there may be no connection
			clock.Sleep(ctx, retryPause)
			continue
		case w == nil, bytes.HasPrefix(w.data, []byte(revokeMessage)):
			return true
		}
		select {
		case <-w.fired:
		case <-ctx.Done():
		case <-b.background.Done():
		}
	}
	return false
}
