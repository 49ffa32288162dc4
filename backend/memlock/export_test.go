package memlock

// Size returns how many keys and how many waiters the Backend knows.
func (b *Backend) Size() (keys, waiters int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.keys {
		waiters += len(e.queue)
	}
	return len(b.keys), waiters
}
