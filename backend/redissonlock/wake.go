package redissonlock

import (
	"context"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/driver"
)

// Turn implements [driver.Waker]. It listens to the messages of RLock and of
// RReadWriteLock.
func (b *backend) Turn(ctx context.Context, r driver.Request) <-chan driver.Grant {
	up := make(chan driver.Grant, 1)
	wake := func() { rediskit.Signal(up) }
	message := func(string) { wake() }
	lock, readWrite := channels(r.Key)
	endLock := b.listener.Subscribe(lock, message, wake)
	endReadWrite := b.listener.Subscribe(readWrite, message, wake)
	context.AfterFunc(ctx, func() {
		endLock()
		endReadWrite()
	})
	return up
}
