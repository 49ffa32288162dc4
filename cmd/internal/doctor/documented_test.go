package doctor_test

import (
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/distlock-go/distlock/cmd/internal/doctor"
	"github.com/distlock-go/distlock/internal/backendurl"
)

var update = flag.Bool("update", false, "write the reports into docs/doctor.md")

const page = "../../../docs/doctor.md"

// writing orders the tests that write the page.
var writing sync.Mutex

// documented checks that the page has the report, after the comment with its name. How
// long requests take, sizes, addresses and line breaks may differ.
func documented(t *testing.T, name string, r *doctor.Report) {
	t.Helper()
	writing.Lock()
	defer writing.Unlock()
	whole, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(whole), "<!-- "+name+" -->\n```console\n")
	command, rest, hasCommand := strings.Cut(rest, "\n")
	shown, after, ends := strings.Cut(rest, "```\n")
	if !found || !hasCommand || !ends || !strings.HasPrefix(command, "$ ") {
		t.Fatalf("%s has no block %s that begins with a command", page, name)
	}
	_, rawURL, _ := strings.Cut(command, "-backend ")
	rawURL, _, _ = strings.Cut(rawURL, " ")
	store := backendurl.Name(rawURL)
	_, now, _ := strings.Cut(text(t, r), "\n")
	now = store + "\n" + strings.ReplaceAll(now, hostOf(r.Store), hostOf(store))
	if *update {
		if err := os.WriteFile(page, []byte(before+"<!-- "+name+" -->\n```console\n"+command+"\n"+now+"```\n"+after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, want := stable(now), stable(shown); got != want {
		t.Errorf("the report is not the one in %s; go test -run %s -update writes it\ngot  %s\nwant %s", page, t.Name(), got, want)
	}
}

// documentedJSON checks that the page has the JSON of a finding.
func documentedJSON(t *testing.T, f doctor.Finding) {
	t.Helper()
	writing.Lock()
	defer writing.Unlock()
	whole, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	object, err := json.MarshalIndent(f, "", "  ")
	if err != nil || !strings.Contains(string(whole), "```json\n"+string(object)+"\n```") {
		t.Errorf("%s does not have this object: %v\n%s", page, err, object)
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
