package main

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock/cmd/backendurl"
	"github.com/distlock-go/distlock/internal/test/etcdtest"
	"github.com/distlock-go/distlock/internal/test/sqltest"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/internal/test/zktest"
)

// readJSON returns the runs in a report.
func readJSON(t *testing.T, path string) []map[string]any {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var report struct{ Runs []map[string]any }
	if err := json.Unmarshal(text, &report); err != nil || report.Runs == nil {
		t.Fatalf("%v in %q", err, text)
	}
	return report.Runs
}

func TestWrapOnEmbedded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	jtl, js := filepath.Join(dir, "out.jtl"), filepath.Join(dir, "out.json")
	got := runArgs(t.Context(), "-users", "20", "-loops", "3", "-ramp-up", "10ms", "-think", "1ms", "-hold", "1ms", "-jtl", jtl, "-json", js)
	got.wantCode(t, 0)
	if !strings.HasPrefix(got.stdout, "wrap: 20 users x 3 loops, ramp-up 10ms, think 1ms, hold 1ms, keys 1, backend embedded\n\nLabel ") {
		t.Error(got.stdout)
	}
	wantContains(t, got.stdout, "\nTOTAL ")
	wantContains(t, got.stdout, "\nwrap lock: 60 of 60 increments\n")
	wantContains(t, got.stdout, "\nwrap no lock: ")
	if got.stderr != "" {
		t.Errorf("stderr %q", got.stderr) // no progress bar without a terminal
	}

	runs := readJSON(t, js)
	if len(runs) != 2 {
		t.Fatalf("%d runs", len(runs))
	}
	want := []string{
		"counted", "cut_short", "error_messages", "errors", "expected", "histogram", "lock", "loops", "max_ms", "mean_ms", "min_ms",
		"p50_ms", "p90_ms", "p95_ms", "p99_ms", "percentiles", "plan", "samples", "series", "throughput_per_s", "users",
	}
	for _, run := range runs {
		if names := slices.Sorted(maps.Keys(run)); !slices.Equal(names, want) {
			t.Errorf("names %v, want %v", names, want)
		}
		p50, p99, most := run["p50_ms"].(float64), run["p99_ms"].(float64), run["max_ms"].(float64)
		if p50 < 1 || p99 < p50 || most < p99 || run["throughput_per_s"].(float64) <= 0 {
			t.Errorf("times %v", run)
		}
	}
	on := runs[0]
	if on["plan"] != "wrap" || on["lock"] != "on" || on["users"] != 20. || on["loops"] != 3. || on["samples"] != 60. ||
		on["errors"] != 0. || on["expected"] != 60. || on["counted"] != 60. || runs[1]["lock"] != "off" {
		t.Errorf("%v", runs)
	}

	text, err := os.ReadFile(jtl)
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]int{}
	for _, line := range parseJTL(t, string(text)) {
		labels[line["label"]+", "+line["URL"]]++
	}
	if want := map[string]int{"wrap lock, null": 60, "wrap no lock, null": 60}; !maps.Equal(labels, want) {
		t.Errorf("%v, want %v", labels, want)
	}
}

func TestWrapOnServers(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t *testing.T) (backend string){
		"ZooKeeper":  func(t *testing.T) string { return "zk://" + zktest.Start(t, zktest.Config{}).Addr() + "/bench" },
		"PostgreSQL": func(t *testing.T) string { return sqltest.Postgres.NewDatabase(t) },
		"MariaDB":    func(t *testing.T) string { return sqltest.MariaDB.NewDatabase(t) },
		"SQLite": func(t *testing.T) string {
			testmode.InRealTime(t)
			return "sqlite:" + filepath.Join(t.TempDir(), "bench.db")
		},
		"etcd": func(t *testing.T) string { return "etcd://" + etcdtest.Start(t).Addr() + "/bench" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			backend := start(t)
			for _, keys := range []string{"1", "7"} {
				got := runArgs(t.Context(), "-backend", backend, "-keys", keys, "-lock", "on",
					"-users", "20", "-loops", "3", "-ramp-up", "10ms", "-think", "1ms", "-hold", "1ms")
				got.wantCode(t, 0)
				wantContains(t, got.stdout, ", keys "+keys+", backend "+backendurl.Name(backend)+"\n\nLabel ")
				wantContains(t, got.stdout, "\nwrap lock: 60 of 60 increments\n")
			}
		})
	}
}

// TestInterrupt: an interrupt ends the current run, reports it, and skips the next.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithTimeout(t.Context(), 2*time.Second) // the run has begun by then
	defer interrupt()
	js, page := filepath.Join(t.TempDir(), "out.json"), t.TempDir()
	got := runArgs(ctx, "-users", "3", "-loops", "1000000", "-ramp-up", "0", "-think", "1ms", "-json", js, "-report", page)
	got.wantCode(t, 0)
	wantContains(t, got.stdout, "\nwrap lock ")
	wantContains(t, got.stdout, "\ninterrupted: ")
	if strings.Contains(got.stdout, "wrap no lock") {
		t.Error(got.stdout)
	}
	runs := readJSON(t, js)
	if len(runs) != 1 || runs[0]["expected"] != runs[0]["counted"] {
		t.Errorf("%v", runs)
	}
	wantContains(t, parsePage(t, page).text, "The load was interrupted: these are the results until then.")
}

func TestInterruptBeforeTheFirstRun(t *testing.T) {
	t.Parallel()
	shop := serveHTTP(t)
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	page := t.TempDir()
	got := runArgs(ctx, "-plan", "http", "-target", shop.url, "-report", page)
	got.wantCode(t, 0)
	wantContains(t, got.stdout, "interrupted: ")
	wantContains(t, parsePage(t, page).text, "there are no results")
	if got.stderr != "" {
		t.Errorf("stderr %q", got.stderr)
	}
}

func TestFilesThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	const full = "/dev/full"
	if _, err := os.Stat(full); err != nil {
		t.Skip("no " + full)
	}
	for _, flag := range []string{"-jtl", "-json"} {
		got := runArgs(t.Context(), "-users", "2", "-loops", "1", "-ramp-up", "0", "-think", "0", "-lock", "off", flag, full)
		got.wantCode(t, 1)
		wantContains(t, got.stderr, "no space left on device")
		wantContains(t, got.stdout, "wrap no lock ") // the results are not lost
	}
	dir := t.TempDir()
	if err := os.Symlink(full, filepath.Join(dir, "index.html")); err != nil {
		t.Fatal(err)
	}
	got := runArgs(t.Context(), "-users", "2", "-loops", "1", "-ramp-up", "0", "-think", "0", "-lock", "off", "-report", dir)
	got.wantCode(t, 1)
	wantContains(t, got.stderr, "no space left on device")
	wantContains(t, got.stdout, "wrap no lock ")
}
