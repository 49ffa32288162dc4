package main

import (
	"errors"
	"fmt"
	"testing"
)

func TestVerdict(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		ok, failed, cutShort int
		counted              int64
		locked               bool
		counters, verdict    string
	}{
		{2000, 0, 0, 2000, true, "x: 2,000 of 2,000 increments", "<nil>"},
		{2000, 0, 0, 1000, true, "x: 1,000 of 2,000 increments, 1,000 lost", "x: 1,000 increments lost in spite of the lock"},
		{2000, 0, 0, 1, false, "x: 1 of 2,000 increments, 1,999 lost", "<nil>"},
		{9, 1, 0, 9, true, "x: 9 of 9 increments; 1 of 10 samples failed, the first with: oh no", "<nil>"},
		{0, 3, 0, 0, true, "x: 0 of 0 increments; 3 of 3 samples failed, the first with: oh no", "x: all samples failed, the first with: oh no"},
		{0, 3, 0, 0, false, "x: 0 of 0 increments; 3 of 3 samples failed, the first with: oh no", "x: all samples failed, the first with: oh no"},
		{9, 1, 0, 10, true, "x: 10 of 9 increments, 1 more than were confirmed; 1 of 10 samples failed, the first with: oh no", "<nil>"},
		{9, 0, 4, 9, true, "x: 9 of 9 increments; cut short: 4", "<nil>"},
		{0, 0, 0, 0, true, "x: 0 of 0 increments", "<nil>"},
	} {
		o := &outcome{label: "x", locked: test.locked, counted: test.counted, cutShort: int64(test.cutShort), samples: make([]sample, test.ok+test.failed)}
		for i := range test.failed {
			o.samples[test.ok+i].err = errors.New([]string{"oh no", "later"}[min(i, 1)])
		}
		if got := o.counters(); got != test.counters {
			t.Errorf("counters: %q, want %q", got, test.counters)
		}
		if got := fmt.Sprint(o.verdict()); got != test.verdict {
			t.Errorf("verdict: %q, want %q", got, test.verdict)
		}
	}
}
