package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// savedRuns writes the results of runs as -json does, after a change to them.
func savedRuns(t *testing.T, path string, change func(*jsonReport), runs []*outcome, args ...string) string {
	t.Helper()
	r := newJSONReport(mustParse(t, args...), time.Date(2026, 11, 22, 22, 30, 0, 0, time.UTC), runs, false)
	if change != nil {
		change(r)
	}
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.write(file); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCompare(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := savedRuns(t, filepath.Join(dir, "a.json"), nil,
		[]*outcome{made(true, 100, 0, number(100)), made(false, 100, 0, number(40))})
	b := savedRuns(t, filepath.Join(dir, "b.json"), func(r *jsonReport) { r.Interrupted = true },
		[]*outcome{made(true, 50, 5, number(44)), made(false, 50, 0, nil)}, "-backend", "redis://u:secret@h:1/0")
	page := filepath.Join(dir, "page")
	got := runArgs(t.Context(), "-compare", a, b, "-report", page)
	got.wantCode(t, 0)
	const want = `wrap, 1,000 users × 10 loops
embedded: backend embedded, 22 November 2026, 22:30 UTC
redis: backend redis://h:1/0, 22 November 2026, 22:30 UTC

wrap lock             embedded  redis  Difference  Ratio
Samples                    100     50         −50   0.50
Errors                       0      5          +5      –
Error %                   0.00  10.00      +10.00      –
Average, ms               50.5   25.5       −25.0   0.50
Min, ms                   1.00   1.00       0.000   1.00
Max, ms                    100   50.0       −50.0   0.50
Median, ms                50.0   25.0       −25.0   0.50
90%, ms                   90.0   45.0       −45.0   0.50
95%, ms                   95.0   48.0       −47.0   0.51
99%, ms                   99.0   50.0       −49.0   0.51
Throughput, /s            19.8   39.2       +19.4   1.98
Increments confirmed       100     45         −55   0.45
Increments counted         100     44         −56   0.44
Increments lost              0      1          +1      –

wrap no lock          embedded    redis  Difference  Ratio
Samples                    100       50         −50   0.50
`
	if !strings.HasPrefix(got.stdout, want) {
		t.Errorf("got\n%s\nwant\n%s", got.stdout, want)
	}
	wantContains(t, got.stdout, "\nIncrements counted          40  unknown           –      –\n")
	wantContains(t, got.stdout, "\nThe load of redis was interrupted: these are the results until then.\n")

	p := parsePage(t, page)
	if p.charts != 7+6 || len(p.cards) != 4 {
		t.Errorf("%d charts, %d cards", p.charts, len(p.cards))
	}
	table := p.tables["Statistics: With the lock"]
	if want := []string{"", "embedded", "redis", "Difference", "Ratio"}; !slices.Equal(table[0], want) {
		t.Errorf("columns %q, want %q", table[0], want)
	}
	for column, want := range []string{"Median, ms", "50.0", "25.0", "−25.0", "0.50"} {
		if cell := table.cell(t, "Median, ms", column); cell != want {
			t.Errorf("column %d: %s, want %s", column, cell, want)
		}
	}
	if p.tables["Settings and machine"].cell(t, "Backend", 2) != "redis://h:1/0" {
		t.Errorf("settings %q", p.tables["Settings and machine"])
	}
	if strings.Contains(p.text, "secret") {
		t.Error("a password is in the page")
	}
}

func TestFilesThatDoNotFit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	both := []*outcome{made(true, 5, 0, number(5)), made(false, 5, 0, number(5))}
	good := savedRuns(t, filepath.Join(dir, "good.json"), nil, both)
	for name, test := range map[string]struct {
		change func(*jsonReport)
		runs   []*outcome
		args   []string
		want   string
	}{
		"plan": {nil, both, []string{"-plan", "http", "-target", "http://x"}, "-compare: GOOD and OTHER do not have the same load: plan: wrap and http"},
		"load": {
			nil, both, []string{"-users", "7", "-loops", "8", "-ramp-up", "2s", "-think", "0", "-hold", "1ms", "-keys", "3"},
			"-compare: GOOD and OTHER do not have the same load: users: 1000 and 7; loops: 10 and 8; ramp-up: 1s and 2s; think: 100ms and 0s; hold: 0s and 1ms; keys: 1 and 3",
		},
		"version": {func(r *jsonReport) { r.Version = 99 }, both, nil, `-compare "OTHER": version: 99, want 1: another bench wrote the file`},
		"no runs": {nil, nil, nil, "-compare: lock: GOOD has on, off, OTHER has none: want a run with the same setting in both"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			other := savedRuns(t, filepath.Join(dir, name+".json"), test.change, test.runs, test.args...)
			got := runArgs(t.Context(), "-compare", good, other)
			got.wantCode(t, 2)
			want := "bench: " + strings.NewReplacer("GOOD", good, "OTHER", other).Replace(test.want) + "\n"
			if got.stderr != want || got.stdout != "" {
				t.Errorf("stderr %q, want %q; stdout %q", got.stderr, want, got.stdout)
			}
		})
	}
}

func TestFilesThatAreNotResults(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		``:                                       "is not a file that -json wrote",
		`timeStamp,elapsed`:                      "is not a file that -json wrote",
		`[]`:                                     "is not a file that -json wrote",
		`{"version":1}`:                          "is not a file that -json wrote",
		`{"runs":[{"plan":"wrap","lock":"on"}]}`: "version: missing, want 1: an older bench wrote the file",
		`{"version":1,"runs":[{"samples":"many"}]}`: "is not a file that -json wrote: json: cannot unmarshal string into Go struct field jsonRun.runs.samples of type int64",
	} {
		file := filepath.Join(t.TempDir(), "a.json")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		got := runArgs(t.Context(), "-from", file, "-report", t.TempDir())
		got.wantCode(t, 2)
		if want := fmt.Sprintf("bench: -from %q: %s\n", file, want); got.stderr != want {
			t.Errorf("stderr %q, want %q", got.stderr, want)
		}
	}
}

// A file may have been edited by hand.
func TestFilesWithWrongNumbers(t *testing.T) {
	t.Parallel()
	runs := []*outcome{made(true, 5, 0, number(5)), made(false, 5, 0, number(5))}
	for want, change := range map[string]func(*jsonRun){
		`lock: "on" of run 2, want on or off, each once`:           func(r *jsonRun) { r.Lock = "on" },
		"run 2: samples: -1, want 0 to 2.147483647e+09":            func(r *jsonRun) { r.Samples = -1 },
		"run 2: errors: 6, want 0 to 5":                            func(r *jsonRun) { r.Errors = 6 },
		"run 2: expected: 4, want 5 to 5":                          func(r *jsonRun) { r.Expected = 4 },
		"run 2: p99_ms: -4, want 0 to 680000":                      func(r *jsonRun) { r.P99 = -4 },
		"run 2: percent: 101, want 0 to 100":                       func(r *jsonRun) { r.Percentiles[0].Percent = 101 },
		"run 2: percentiles: 1e+300, want 0 to 680000":             func(r *jsonRun) { r.Percentiles[0].Time = 1e300 },
		"run 2: from_ms: 0, want 0.001 to 680000":                  func(r *jsonRun) { r.Histogram[0].From = 0 },
		"run 2: to_ms: 0.5, want 1 to 680000":                      func(r *jsonRun) { r.Histogram[0].To = 0.5 },
		"run 2: interval_ms: 0, want 100 to 9.223372036854775e+12": func(r *jsonRun) { r.Series.Interval = 0 },
		"run 2: points: 201, want 0 to 200":                        func(r *jsonRun) { r.Series.Points = make([]jsonPoint, 201) },
		"run 2: p50_ms of a point: -1, want 0 to 680000":           func(r *jsonRun) { r.Series.Points[0].P50 = -1 },
		"run 2: samples in the histogram: 4, want 5 to 5":          func(r *jsonRun) { r.Histogram[0].Samples-- },
		"run 2: samples in the series: 4, want 5 to 5":             func(r *jsonRun) { r.Series.Points[0].Samples-- },
	} {
		file := savedRuns(t, filepath.Join(t.TempDir(), "a.json"), func(r *jsonReport) { change(&r.Runs[1]) }, runs)
		got := runArgs(t.Context(), "-from", file, "-report", t.TempDir())
		got.wantCode(t, 2)
		if want := fmt.Sprintf("bench: -from %q: %s\n", file, want); got.stderr != want {
			t.Errorf("stderr %q, want %q", got.stderr, want)
		}
	}
}
