package redislock

// InFlight returns the number of batches in flight, Queued that of queued requests.
func (b *Backend) InFlight() int {
	n, _ := b.counts()
	return n
}

func (b *Backend) Queued() int {
	_, n := b.counts()
	return n
}

func (b *Backend) counts() (inFlight, queued int) {
	b.dispatcher.mu.Lock()
	defer b.dispatcher.mu.Unlock()
	inFlight, queued = b.dispatcher.defaultSite.Counts()
	for _, s := range b.dispatcher.sites {
		f, q := s.Counts()
		inFlight, queued = inFlight+f, queued+q
	}
	return inFlight, queued
}
