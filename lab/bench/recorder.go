package main

import (
	"sync"
	"time"
)

// recorder counts the samples of concurrent users. It is sharded: users would wait for a
// single mutex, and a histogram for each of a thousand users would take 150 KB each.
type recorder struct {
	shards [16]struct {
		mu     sync.Mutex
		tally  *tally
		series *series
		faults faults
		_      [32]byte // each shard has its own cache line
	}
}

func newRecorder() *recorder {
	r := &recorder{}
	start := time.Now()
	for i := range r.shards {
		s := &r.shards[i]
		s.tally, s.series, s.faults = newTally(), newSeries(start), faults{}
	}
	return r
}

// add counts a sample. active is the number of active users when it began, and err is
// nil if it succeeded.
func (r *recorder) add(user int, active int64, start time.Time, elapsed time.Duration, err error) {
	var fault string
	if err != nil {
		fault = faultOf(err)
	}
	s := &r.shards[user%len(r.shards)]
	s.mu.Lock()
	s.tally.add(start, elapsed, err == nil)
	s.series.add(start, start.Add(elapsed), measured(elapsed), active, err == nil)
	if err != nil {
		s.faults.add(fault, 1)
	}
	s.mu.Unlock()
}

// total returns what all users did.
func (r *recorder) total() (*tally, *series, faults) {
	t, f := newTally(), faults{}
	all := newSeries(r.shards[0].series.start)
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		t.merge(s.tally)
		all.merge(s.series)
		f.merge(s.faults)
		s.mu.Unlock()
	}
	return t, all, f
}
