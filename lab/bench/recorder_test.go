package main

import (
	"errors"
	"sync"
	"testing"
	"time"
)

// What the recorder's parts say of the same samples must agree.
func TestRecorder(t *testing.T) {
	t.Parallel()
	r := newRecorder()
	start := time.Now()
	fault := errors.New("oh no")
	var users sync.WaitGroup
	for user := range 100 {
		users.Go(func() {
			for i := range 50 {
				var err error
				if i == user%50 {
					err = fault
				}
				// Some users go on for longer than the others.
				r.add(user, int64(user), start.Add(time.Duration(i*user)*10*time.Millisecond), time.Millisecond, err)
			}
		})
	}
	users.Wait()
	total, series, faults := r.total()
	samples, errors := series.sums()
	if total.samples != 5000 || samples != 5000 || total.errors != 100 || errors != 100 || faults["oh no"] != 100 {
		t.Errorf("%d and %d samples, %d, %d and %v errors", total.samples, samples, total.errors, errors, faults)
	}
	if end := time.Duration(series.used) * series.width; end < 48*time.Second || end > 52*time.Second {
		t.Errorf("the series ends at %v, want 49 s and a little", end)
	}
}

// The users' measured time has no garbage collection in it that the recorder causes.
func TestRecorderDoesNotAllocate(t *testing.T) {
	r := newRecorder()
	start := time.Now()
	at := time.Duration(0)
	allocs := testing.AllocsPerRun(1000, func() {
		at += time.Second // the series becomes coarser on the way
		r.add(3, 7, start.Add(at), time.Millisecond, nil)
	})
	if allocs != 0 {
		t.Errorf("%v allocations for each sample", allocs)
	}
}

func BenchmarkRecorder(b *testing.B) {
	r := newRecorder()
	var mu sync.Mutex
	users := 0
	b.RunParallel(func(pb *testing.PB) {
		mu.Lock()
		user := users
		users++
		mu.Unlock()
		start := time.Now()
		for pb.Next() {
			r.add(user, 1, start, 3*time.Millisecond, nil)
		}
	})
}
