package main

import (
	"errors"
	"io"
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

// The report does not show passwords.
func TestReport(t *testing.T) {
	t.Parallel()
	c, err := parseFlags([]string{"-backend", "redis://user:secret@host:6379/0?x=secret"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	at := func(label string, locked bool, start time.Time, counted int64) *load {
		return &load{label: label, locked: locked, counted: counted, samples: []sample{
			{start: start, elapsed: 12 * time.Millisecond},
			{start: start, elapsed: 34 * time.Millisecond, err: errors.New("oh no")},
		}}
	}
	runs := []*load{at("wrap lock", true, start, 1), at("wrap no lock", false, start.Add(966*time.Millisecond), 0)}
	const want = `wrap: 1,000 users x 10 loops, ramp-up 1s, think 100ms, hold 0s, keys 1, backend redis://host:6379/0

Label         # Samples  Average  Median  90% Line  95% Line  99% Line    Min    Max  Error %  Throughput /s
wrap lock             2     23.0    12.0      34.0      34.0      34.0   12.0   34.0   50.00%             59
wrap no lock          2     23.0    12.0      34.0      34.0      34.0   12.0   34.0   50.00%             59
TOTAL                 4     23.0    12.0      34.0      34.0      34.0   12.0   34.0   50.00%              4

wrap lock: 1 of 1 increments; 1 of 2 samples failed, the first with: oh no
wrap no lock: 0 of 1 increments, 1 lost; 1 of 2 samples failed, the first with: oh no
`
	if got := c.report(runs); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := c.report(runs[:1]); strings.Contains(got, "TOTAL") {
		t.Errorf("one run:\n%s", got)
	}
}
