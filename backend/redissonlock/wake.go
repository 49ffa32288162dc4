package redissonlock

import (
	"context"
	"sync/atomic"
)

// Wake implements [driver.Waker]. It listens to the messages of RLock and of RReadWriteLock.
func (b *Backend) Wake(ctx context.Context, key string) <-chan struct{} {
	up := make(chan struct{}, 1)
	wake := func() {
		select {
		case up <- struct{}{}:
		default: // a value that is there already says the same
		}
	}
	lock, readWrite := channels(key)
	message := func(string) { wake() }
	// One value is enough if both subscriptions begin together. If that of RReadWriteLock works
	// later or again, one of its releases may have been missed.
	var begun atomic.Bool
	endReadWrite := b.listener.Subscribe(readWrite, message, func() {
		if begun.Load() {
			wake()
		}
	})
	endLock := b.listener.Subscribe(lock, message, func() {
		begun.Store(true)
		wake()
	})
	context.AfterFunc(ctx, func() {
		endLock()
		endReadWrite()
	})
	return up
}
