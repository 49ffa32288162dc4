package doctor_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/distlock-go/distlock/cmd/internal/doctor"
)

const page = "../../../docs/doctor.md"

// The page has the table of all checks, and each ID is one and is kebab-case.
func TestCatalogue(t *testing.T) {
	t.Parallel()
	whole, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var topics, ids []string
	of := map[string][]string{} // the checks of each topic
	for _, c := range doctor.Catalogue {
		if !slices.Contains(topics, c.Topic) {
			topics = append(topics, c.Topic)
		}
		of[c.Topic] = append(of[c.Topic], "`"+c.ID+"`")
		if !regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`).MatchString(c.ID) || slices.Contains(ids, c.ID) {
			t.Errorf("%q is not a new ID", c.ID)
		}
		if !regexp.MustCompile(`\((P[1-8](, )?)+\)\.$|only\.$`).MatchString(c.Why) {
			t.Errorf("%s: %q names no promise", c.ID, c.Why)
		}
		ids = append(ids, c.ID)
	}
	var table strings.Builder
	for _, topic := range topics {
		fmt.Fprintf(&table, "| %s | %s |\n", topic, strings.Join(of[topic], ", "))
	}
	const head = "| topic | checks |\n|---|---|\n"
	before, shown, found := strings.Cut(string(whole), head)
	switch {
	case !found:
		t.Fatalf("%s has no table of checks", page)
	case *update:
		if err := os.WriteFile(page, []byte(before+head+table.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	case shown != table.String():
		t.Errorf("the table is not the one in %s; go test -run %s -update writes it", page, t.Name())
	}
}
