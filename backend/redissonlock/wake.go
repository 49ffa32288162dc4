package redissonlock

import (
	"context"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/wake"
)

// Turn implements [driver.Waker]. It listens to the messages of RLock and of
// RReadWriteLock.
func (b *backend) Turn(ctx context.Context, r driver.Request) <-chan driver.Grant {
	up := make(chan driver.Grant, 1)
	tell := func() { wake.Signal(up) }
	message := func(string) { tell() }
	lock, readWrite := channels(r.Key)
	endLock := b.listener.Subscribe(lock, message, tell)
	endReadWrite := b.listener.Subscribe(readWrite, message, tell)
	context.AfterFunc(ctx, func() {
		endLock()
		endReadWrite()
	})
	return up
}
