package main

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestMilliseconds(t *testing.T) {
	t.Parallel()
	const us = time.Microsecond
	for d, want := range map[time.Duration]string{
		us:               "0.001",
		999 * us:         "0.999",
		1000 * us:        "1.00",
		9994 * us:        "9.99",
		9996 * us:        "10.0",
		12_340 * us:      "12.3",
		99_940 * us:      "99.9",
		99_960 * us:      "100",
		1_234_567 * us:   "1,235",
		10 * time.Minute: "600,000",
	} {
		if got := ms(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

func TestGroup(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		0: "0", 7: "7", 999: "999", 1000: "1,000", 10_000: "10,000", 1_234_567: "1,234,567", -999: "-999", -1000: "-1,000",
	} {
		if got := group(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

// outcomeOf has a sample of 12 ms, and an error after 34 ms.
func outcomeOf(label string, locked bool, start time.Time, counted int64) *outcome {
	return &outcome{label: label, locked: locked, counted: counted, samples: []sample{
		{start: start, elapsed: 12 * time.Millisecond},
		{start: start, elapsed: 34 * time.Millisecond, err: errors.New("a\nb")},
	}}
}

func TestTable(t *testing.T) {
	t.Parallel()
	start := time.Now()
	runs := []*outcome{outcomeOf("wrap lock", true, start, 1), outcomeOf("wrap no lock", false, start.Add(966*time.Millisecond), 0)}
	var b strings.Builder
	if err := report(&b, mustParse(t), runs, false); err != nil {
		t.Fatal(err)
	}
	const want = `wrap: 1,000 users x 10 loops, ramp-up 1s, think 100ms, hold 0s, keys 1, backend embedded

Label         # Samples  Average  Median  90% Line  95% Line  99% Line   Min   Max  Error %  Throughput /s
wrap lock             2     23.0    12.0      34.0      34.0      34.0  12.0  34.0   50.00%           58.8
wrap no lock          2     23.0    12.0      34.0      34.0      34.0  12.0  34.0   50.00%           58.8
TOTAL                 4     23.0    12.0      34.0      34.0      34.0  12.0  34.0   50.00%            4.0

wrap lock: 1 of 1 increments; 1 of 2 samples failed, the first with: a b
wrap no lock: 0 of 1 increments, 1 lost; 1 of 2 samples failed, the first with: a b
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	if err := report(&b, mustParse(t), runs[:1], true); err != nil || strings.Contains(b.String(), "TOTAL") {
		t.Errorf("one run: %v\n%s", err, b.String())
	}
	wantContains(t, b.String(), "\ninterrupted: ")
}
