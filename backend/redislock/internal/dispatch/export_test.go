package dispatch

import "time"

const (
	MaxBatch    = maxBatch
	MaxInFlight = maxInFlight
)

// InFlight returns the number of batches in flight, and that of the late ones.
func (b *Batcher[R, V]) InFlight() (inFlight, late int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.inFlight, b.late
}

// Limit returns how many batches may be in flight.
func (b *Batcher[R, V]) Limit() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.distance.limit()
}

// EndPeriod makes the present estimate of the distance old.
func (b *Batcher[R, V]) EndPeriod() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.distance.since = time.Time{}
}
