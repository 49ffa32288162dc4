package memlock

// Size returns how many keys and how many waiters the Backend knows.
func (b *Backend) Size() (keys, waiters int) {
	for i := range b.shards {
		s := &b.shards[i]
		s.mu.Lock()
		keys += len(s.keys)
		waiters += len(s.waiters)
		s.mu.Unlock()
	}
	return keys, waiters
}

// Remembered is how many releases each shard remembers.
const Remembered = len(history{}.last)
