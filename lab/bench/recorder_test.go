package main

import (
	"testing"
	"time"
)

// The users' measured time has no garbage collection in it that the recorder causes.
func TestRecorderDoesNotAllocate(t *testing.T) {
	r := newRecorder()
	start := time.Now()
	at := time.Duration(0)
	allocs := testing.AllocsPerRun(1000, func() {
		at += time.Second
		r.add(3, start.Add(at), time.Millisecond, true)
	})
	if allocs != 0 {
		t.Errorf("%v allocations for each sample", allocs)
	}
}
