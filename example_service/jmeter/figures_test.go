package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hundred are the samples of 1 to 100 ms, and the figures of both reports about them.
func hundred() (all samples, ours, theirs figures) {
	for i := range 100 {
		all = append(all, sample{elapsed: i + 1})
	}
	ours = figures{samples: 100, mean: 50.3, p50: 50.01, p90: 89.9, p95: 95.09, p99: 98.7, min: 0.8, max: 100.4, throughput: 33.33}
	theirs = figures{samples: 100, mean: 50.5, p50: 50.5, p90: 90.9, p95: 95.95, p99: 99.99, min: 1, max: 100, throughput: 33.3333}
	return all, ours, theirs
}

func TestSameFigures(t *testing.T) {
	t.Parallel()
	all, ours, theirs := hundred()
	if err := ours.same(theirs, all); err != nil {
		t.Error(err)
	}
	for want, differ := range map[string]func(*figures){
		"100 samples, 0 failed; JMeter's report: 99 and 0":  func(f *figures) { f.samples = 99 },
		"100 samples, 0 failed; JMeter's report: 100 and 1": func(f *figures) { f.errors = 1 },
		"median is ":     func(f *figures) { f.p50 += 3 },
		"90% is ":        func(f *figures) { f.p90 -= 4 },
		"95% is ":        func(f *figures) { f.p95 += 3 },
		"99% is ":        func(f *figures) { f.p99 = f.p95 },
		"mean is ":       func(f *figures) { f.mean++ },
		"min is ":        func(f *figures) { f.min = 0 },
		"max is ":        func(f *figures) { f.max++ },
		"throughput is ": func(f *figures) { f.throughput += 0.1 },
		"throughput is 33.33/s; JMeter's report: NaN/s": func(f *figures) { f.throughput = math.NaN() },
	} {
		_, _, other := hundred()
		differ(&other)
		if got := text(ours.same(other, all)); !strings.HasPrefix(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if err := ours.same(theirs, all[1:]); err == nil {
		t.Error("a sample is missing in the file")
	}
	if err := (figures{}).same(figures{}, nil); err == nil {
		t.Error("there are no samples")
	}
}

// TestReadFigures reads what both programs write.
func TestReadFigures(t *testing.T) {
	t.Parallel()
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "figures.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	want := figures{10, 1, 5.5, 5, 9, 9.5, 9.9, 1, 10, 33.25}
	of, err := readStatistics(write(`{"order": {"transaction": "order", "sampleCount": 10, "errorCount": 1, "errorPct": 10.0,
		"meanResTime": 5.5, "medianResTime": 5.0, "minResTime": 1.0, "maxResTime": 10.0,
		"pct1ResTime": 9.0, "pct2ResTime": 9.5, "pct3ResTime": 9.9, "throughput": 33.25, "receivedKBytesPerSec": 1.0}}`))
	if err != nil || of["order"] != want {
		t.Errorf("%+v, %v; want %+v", of, err, want)
	}
	const r = `{"plan": "http", "lock": "on", "samples": 10, "errors": 1, "throughput_per_s": 33.25, "mean_ms": 5.5,
		"min_ms": 1, "p50_ms": 5, "p90_ms": 9, "p95_ms": 9.5, "p99_ms": 9.9, "max_ms": 10}`
	two, err := readResults(write(`{"runs": [` + r + `,` + r + `]}`))
	if err != nil || two != [2]figures{want, want} {
		t.Errorf("%+v, %v; want %+v twice", two, err, want)
	}
	if _, err := readResults(write(`{"runs": [` + r + `]}`)); err == nil {
		t.Error("one run is enough")
	}
	if _, err := readStatistics(write(`[]`)); err == nil {
		t.Error("a list is good")
	}
}
