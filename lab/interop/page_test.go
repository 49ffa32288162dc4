package interop_test

import (
	"os"
	"strings"
	"sync"
	"testing"
)

const page = "../../docs/interop.md"

// pageMutex: the tests write their sections one after the other.
var pageMutex sync.Mutex

// section compares a section of the page with what a test has found, or writes it with
// -update.
func section(t *testing.T, name, text string) {
	t.Helper()
	if t.Failed() {
		return
	}
	pageMutex.Lock()
	defer pageMutex.Unlock()
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+name+": written by go test ./lab/interop -update -->\n", "<!-- end of "+name+" -->\n"
	before, rest, ok := strings.Cut(string(content), begin)
	old, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no section %s", page, name)
	}
	if *update {
		if err := os.WriteFile(page, []byte(before+begin+text+end+after), 0o644); err != nil { //nolint:gosec // as git makes it
			t.Fatal(err)
		}
		return
	}
	if text != old {
		t.Errorf("%s, section %s, should be (make interop writes it):\n%s", page, name, text)
	}
}

// row is a row of a table.
type row []string

// markdown returns a table.
func markdown(header row, rows []row) string {
	var b strings.Builder
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(header)
	rule := make(row, len(header))
	for i := range rule {
		rule[i] = "---"
	}
	line(rule)
	for _, r := range rows {
		line(r)
	}
	return b.String()
}

// meetAll lets all pairs meet at the same time, and returns the table.
func meetAll(t *testing.T, pairs []pair, javaSide, goSide *peer) string {
	t.Helper()
	rows := make([]row, len(pairs))
	t.Run("pairs", func(t *testing.T) {
		for i, p := range pairs {
			t.Run(p.java+" "+p.ours, func(t *testing.T) {
				t.Parallel()
				rows[i] = p.meet(t, p.java+"-"+p.ours, javaSide, goSide)
			})
		}
	})
	header := row{"theirs", "ours", "theirs is held: ours sees", "our waiter has it by", "ours is held: theirs sees", "their waiter has it by"}
	return markdown(header, rows)
}
