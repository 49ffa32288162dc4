package redissonlock

import "context"

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
	endReadWrite := b.listener.Subscribe(readWrite, message, wake)
	endLock := b.listener.Subscribe(lock, message, wake)
	context.AfterFunc(ctx, func() {
		endLock()
		endReadWrite()
	})
	return up
}
