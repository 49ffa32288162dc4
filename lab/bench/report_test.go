package main

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// The samples take 1,000 ms to 1 ms, every tenth has failed, and one begins every 2 ms.
func TestRow(t *testing.T) {
	t.Parallel()
	samples, start := make([]sample, 1000), time.Now()
	for i := range samples {
		samples[i].start, samples[i].elapsed = start.Add(time.Duration(i)*2*time.Millisecond), time.Duration(1000-i)*time.Millisecond
		if i%10 == 0 {
			samples[i].err = errors.New("oh no")
		}
	}
	// The last sample began at 1998 ms and took 1 ms.
	const want = "x                 1,000      500     500       900       950       990   1.00  1,000   10.00%            500\n"
	if got := row("x", samples); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := strings.Join(strings.Fields(row("x", nil)), " "); got != "x 0 0.000 0.000 0.000 0.000 0.000 0.000 0.000 0.00% 0" {
		t.Errorf("no samples: %s", got)
	}
}
