package main

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

func TestVerdict(t *testing.T) {
	t.Parallel()
	known := func(n int64) *int64 { return &n }
	for name, test := range map[string]struct {
		ok, failed, cutShort int
		counted              *int64
		locked               bool
		counters, verdict    string
	}{
		"exact": {
			ok: 2000, counted: known(2000), locked: true,
			counters: "x: 2,000 of 2,000 increments",
		},
		"lost under the lock": {
			ok: 2000, counted: known(1000), locked: true,
			counters: "x: 1,000 of 2,000 increments, 1,000 lost",
			verdict:  "x: 1,000 increments lost in spite of the lock",
		},
		"lost without": {
			ok: 2000, counted: known(1),
			counters: "x: 1 of 2,000 increments, 1,999 lost",
		},
		"some failed": {
			ok: 9, failed: 1, counted: known(9), locked: true,
			counters: "x: 9 of 9 increments; 1 of 10 samples failed, the first with: oh no",
		},
		"all failed": {
			failed: 3, counted: known(0), locked: true,
			counters: "x: 0 of 0 increments; 3 of 3 samples failed, the first with: oh no",
			verdict:  "x: all samples failed, the first with: oh no",
		},
		"all failed without": {
			failed: 3, counted: known(0),
			counters: "x: 0 of 0 increments; 3 of 3 samples failed, the first with: oh no",
			verdict:  "x: all samples failed, the first with: oh no",
		},
		"answer lost": {
			ok: 9, failed: 1, counted: known(10), locked: true,
			counters: "x: 10 of 9 increments, 1 more than were confirmed; 1 of 10 samples failed, the first with: oh no",
		},
		"interrupted": {
			ok: 9, cutShort: 4, counted: known(9), locked: true,
			counters: "x: 9 of 9 increments; cut short: 4",
		},
		"nothing was done": {counted: known(0), locked: true, counters: "x: 0 of 0 increments"},
		"unknown":          {ok: 9, locked: true, counters: "x: unknown of 9 increments"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := &outcome{label: "x", locked: test.locked, tally: newTally(), counted: test.counted, cutShort: int64(test.cutShort)}
			for i := range test.ok + test.failed {
				o.tally.add(time.Now(), time.Millisecond, i < test.ok)
			}
			if test.failed > 0 {
				o.failure = errors.New("oh no")
			}
			if got := o.counters(); got != test.counters {
				t.Errorf("counters: %q, want %q", got, test.counters)
			}
			want := "<nil>"
			if test.verdict != "" {
				want = test.verdict
			}
			if got := fmt.Sprint(o.verdict()); got != want {
				t.Errorf("verdict: %q, want %q", got, want)
			}
		})
	}
}
