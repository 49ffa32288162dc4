package dispatch

import "time"

const (
	MaxBatch    = maxBatch
	MaxInFlight = maxInFlight
	SampleSize  = sampleSize
	InFlightPer = inFlightPer
	MinPeriod   = minPeriod
)

// Queued returns the number of queued requests.
func (b *Batcher[R, V]) Queued() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queue)
}

// InFlight returns the number of batches in flight.
func (b *Batcher[R, V]) InFlight() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.inFlight + b.late
}

// Limit returns how many batches may be in flight.
func (b *Batcher[R, V]) Limit() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.distance.limit()
}

// SetDistance makes the Batcher believe in that round trip time for an hour.
func (b *Batcher[R, V]) SetDistance(rtt time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.distance = distance{rtt: rtt, taken: samples, since: time.Now().Add(time.Hour)}
}
