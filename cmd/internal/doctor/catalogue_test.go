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

// The page has the table of all checks, and each ID is one and is kebab-case.
func TestCatalogue(t *testing.T) {
	t.Parallel()
	writing.Lock()
	defer writing.Unlock()
	whole, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	var ids []string
	for _, c := range doctor.Catalogue {
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", c.ID, c.Stores, c.Why)
		if !regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`).MatchString(c.ID) || slices.Contains(ids, c.ID) {
			t.Errorf("%q is not a new ID", c.ID)
		}
		if !regexp.MustCompile(`\((P[1-8](, )?)+\)\.$|only\.$`).MatchString(c.Why) {
			t.Errorf("%s: %q names no promise", c.ID, c.Why)
		}
		ids = append(ids, c.ID)
	}
	const head = "| id | stores | why |\n|---|---|---|\n"
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
