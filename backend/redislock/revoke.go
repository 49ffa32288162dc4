package redislock

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/driver"
)

var _ driver.Revoker = (*backend)(nil)

// maxRevoked is the number of holders of one key that Revoke asks at most.
const maxRevoked = 1000

// revokeChannel returns the channel in which an owner is asked to give its key back. It
// begins like the inboxes, so it needs no permission of its own.
func (b *backend) revokeChannel(owner string) string { return b.cfg.InboxPrefix + "revoke:" + owner }

// Revoke asks the holders of the key by a message. A message may be lost, so the caller
// should repeat it. At most a thousand holders are asked. A key that another library
// holds counts as held, but that library does not listen. With a Ring no holder is
// told.
func (b *backend) Revoke(ctx context.Context, key string) (held bool, err error) {
	if err := b.checkKey(key); err != nil {
		return false, err
	}
	owners, err := call(ctx, b.calls, func(ctx context.Context, c redis.UniversalClient) ([]string, error) {
		return readOwners(ctx, c, key)
	})
	if err != nil {
		return false, err
	}
	if len(owners) == 0 {
		v, err := b.valueAt(ctx, key)
		return err == nil && v.kind != "none", err
	}
	_, err = call(ctx, b.calls, func(ctx context.Context, c redis.UniversalClient) (struct{}, error) {
		pipe := c.Pipeline()
		for _, owner := range owners {
			pipe.Publish(ctx, b.revokeChannel(owner), "")
		}
		_, err := pipe.Exec(ctx)
		return struct{}{}, err
	})
	return true, err
}

func readOwners(ctx context.Context, c redis.UniversalClient, key string) ([]string, error) {
	names := lockKeys(key)
	reply, err := inspectScript.Run(ctx, c, names[:], maxRevoked, 0, rediskit.Flag(true)).Slice()
	if err != nil {
		if errors.Is(err, redis.Nil) {
			err = nil
		}
		return nil, err
	}
	_, rest := rediskit.Numbers(reply)
	if len(rest) != 3 {
		return nil, malformed(reply)
	}
	var owners []string
	holders, _ := rest[1].([]any)
	for holder := range slices.Chunk(holders, 3) {
		owner, _ := holder[0].(string)
		owners = append(owners, owner)
	}
	return owners, nil
}

// Revoked implements [driver.Revoker]. The subscription shares the connection of the
// inbox. If it is not confirmed within an operation timeout, a request may be missed
// until it is. With a Ring the channel is never closed.
func (b *backend) Revoked(ctx context.Context, g driver.Grant) <-chan struct{} {
	revoked := make(chan struct{})
	if b.inbox.listener == nil {
		return revoked
	}
	asked := sync.OnceFunc(func() { close(revoked) })
	waiting, subscribed := context.WithTimeout(ctx, b.cfg.OpTimeout)
	defer subscribed()
	context.AfterFunc(ctx, b.inbox.listener.Subscribe(b.revokeChannel(g.Owner), func(string) { asked() }, subscribed))
	<-waiting.Done()
	return revoked
}
