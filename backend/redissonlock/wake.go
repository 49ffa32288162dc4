package redissonlock

import (
	"context"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
)

// Wake implements [driver.Waker]. It listens to the messages of RLock and of RReadWriteLock.
func (b *backend) Wake(ctx context.Context, key string) <-chan struct{} {
	up := make(chan struct{}, 1)
	wake := func() { rediskit.Signal(up) }
	message := func(string) { wake() }
	lock, readWrite := channels(key)
	endLock := b.listener.Subscribe(lock, message, wake)
	endReadWrite := b.listener.Subscribe(readWrite, message, wake)
	context.AfterFunc(ctx, func() {
		endLock()
		endReadWrite()
	})
	return up
}
