package memlock

// Size returns how many keys are held or remembered, and how many places are
// taken in their lines.
func (b *Backend) Size() (keys, places int) {
	for i := range b.shards {
		s := &b.shards[i]
		s.mu.Lock()
		keys += len(s.keys)
		places += len(s.places)
		s.mu.Unlock()
	}
	return keys, places
}

// Remembered is how many releases each shard remembers.
const Remembered = len(memory{}.claims)
