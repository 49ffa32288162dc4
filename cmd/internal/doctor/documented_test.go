package doctor_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/distlock-go/distlock/cmd/internal/doctor"
)

var update = flag.Bool("update", false, "write the reports into testdata, and the checks into docs/doctor.md")

// documented checks that the report is the one in testdata. How long requests take, sizes,
// addresses and line breaks may differ.
func documented(t *testing.T, name string, r *doctor.Report) {
	t.Helper()
	golden := filepath.Join("testdata", "report", name+".txt")
	now := text(t, r)
	if *update {
		if err := os.WriteFile(golden, []byte(now), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	shown, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	store, _, _ := strings.Cut(string(shown), "\n")
	first, rest, _ := strings.Cut(now, "\n")
	now = store + "\n" + strings.ReplaceAll(rest, hostOf(first), hostOf(store))
	if got, want := stable(now), stable(string(shown)); got != want {
		t.Errorf("the report is not the one in %s; go test -run %s -update writes it\ngot  %s\nwant %s", golden, t.Name(), got, want)
	}
}

// hostOf returns host and port in the name of a store.
func hostOf(store string) string {
	_, rest, _ := strings.Cut(store, "://")
	host, _, _ := strings.Cut(rest, "/")
	return host
}

// volatile is what differs from run to run.
var volatile = regexp.MustCompile(`[0-9]+ [KMG]B|[0-9]+ of [0-9]{2,} used|127\.0\.0\.1:[0-9]+|(Redis|Valkey) [0-9.]+|[0-9]+\.[0-9]+\.[0-9]+|PostgreSQL [0-9.]+|[0-9]+ revisions?`)

// stable returns the part of a report that is the same in each run: without the times,
// which are the last topic, and without the summary, which counts them.
func stable(report string) string {
	report, _, _ = strings.Cut(report, "\nTime\n")
	return volatile.ReplaceAllString(strings.Join(strings.Fields(report), " "), "…")
}
