package dispatch

import "time"

const (
	maxInFlight = 16 // batches

	// For every such part of the round trip time, a batch may be in flight. It is what even
	// a small batch costs the client and the server together. So there are as many batches
	// in flight as both can handle in a round trip. More would make batches smaller, and
	// would cost more in total; with fewer, requests would wait although nothing is busy.
	// A server on the same machine is usually 30 to 190 µs away, also under load: it gets one.
	inFlightPer = 125 * time.Microsecond

	samples     = 4           // that an estimate needs
	sampleSize  = 16          // requests: they cost less than inFlightPer
	minPeriod   = time.Second // of an estimate
	periodTrips = 1000        // or as many round trips: sampling takes about five
)

// distance estimates the round trip time of the network to a server. It is the shortest
// time that a small batch took which had the server to itself. An average would grow with
// the load: a full batch on the same machine takes as long as a small one over a network,
// and several batches in flight wait for each other. Then more batches in flight would
// make the server look more distant, and so on.
//
// A server under load sees no small batch. So each period begins with a few of them.
type distance struct {
	rtt   time.Duration // the shortest sample in this period
	taken int           // samples in this period
	since time.Time     // the start of this period
}

// sampling reports whether batches have to be small, and one at a time.
func (d *distance) sampling() bool { return d.taken < samples }

// limit returns how many batches may be in flight.
func (d *distance) limit() int {
	if d.sampling() {
		return 1
	}
	return min(max(int(d.rtt/inFlightPer), 1), maxInFlight)
}

// batchSize returns how many requests a batch may have.
func (d *distance) batchSize() int {
	if d.sampling() {
		return sampleSize
	}
	return maxBatch
}

// observe records how long a batch took that was answered.
func (d *distance) observe(now time.Time, took time.Duration, alone bool) {
	if now.Sub(d.since) >= max(minPeriod, periodTrips*d.rtt) {
		d.since, d.taken = now, 0
	}
	if !alone {
		return
	}
	if d.taken == 0 || took < d.rtt {
		d.rtt = took
	}
	d.taken++
}
