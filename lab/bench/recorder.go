package main

import (
	"sync"
	"time"
)

// recorder counts the samples of concurrent users. It is sharded: users would wait for a
// single mutex, and a histogram for each of a thousand users would take 150 KB each.
type recorder struct {
	shards [16]struct {
		mu    sync.Mutex
		tally *tally
		_     [48]byte // each shard has its own cache line
	}
}

func newRecorder() *recorder {
	r := &recorder{}
	for i := range r.shards {
		r.shards[i].tally = newTally()
	}
	return r
}

// add counts a sample.
func (r *recorder) add(user int, start time.Time, elapsed time.Duration, ok bool) {
	s := &r.shards[user%len(r.shards)]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tally.add(start, elapsed, ok)
}

// total returns what all users did.
func (r *recorder) total() *tally {
	t := newTally()
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		t.merge(s.tally)
		s.mu.Unlock()
	}
	return t
}
