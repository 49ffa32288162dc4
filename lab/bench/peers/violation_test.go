package main

import (
	"errors"
	"io"
	"testing"
	"time"
)

// A peer that does not lock is detected, also if its holders are in different
// processes.
func TestNoneViolates(t *testing.T) {
	b, err := newBench(&config{redis: server(t), rounds: 1, slice: 100 * time.Millisecond, patience: 5 * time.Second}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	s := scenario{
		id: "F5", field: []string{"none", ours},
		shape: shape{procs: 4, goroutines: 4, loops: 20, hold: time.Millisecond},
	}
	of, err := b.measure(t.Context(), &s)
	if err != nil {
		t.Fatal(err)
	}
	sl := of["none"].slices[0]
	if sl.overlaps == 0 || sl.backwards == 0 {
		t.Errorf("%d overlaps, %d tokens that did not rise, in %d grants", sl.overlaps, sl.backwards, sl.locks)
	}
	if n := of[ours].violations(); n != 0 {
		t.Errorf("ours: %d violations", n)
	}

	b.figures = []*figure{of["none"], of[ours]}
	if err := b.violated(); err != nil {
		t.Errorf("a violation by another peer is not a failure: %v", err)
	}
	of["none"].peer = ours
	if err := b.violated(); !errors.Is(err, errViolated) {
		t.Errorf("got %v", err)
	}
	v := judgeRegister(verdict{}, of["none"])
	if v.Met || v.Ratio == 0 {
		t.Errorf("%+v", v)
	}
}
