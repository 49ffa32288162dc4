package main

import (
	"bytes"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPage checks that each row has a test for each of its backends, and that the page
// in the repository is up to date.
func TestPage(t *testing.T) {
	root := filepath.Join("..", "..")
	proofs, err := collect(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := complete(proofs); err != nil {
		t.Error(err)
	}
	var want bytes.Buffer
	render(&want, proofs)
	got, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%s is not up to date: run go generate ./internal/matrix", page)
	}
}

func TestProofs(t *testing.T) {
	for name, c := range map[string]struct{ comment, want, err string }{
		"none":       {"// TestX is of no row.", "", ""},
		"one":        {"// TestX does.\n// Row 3 (redislock, zklock): all is well. Fails if it\n// is not.", "3 redislock+zklock|all is well|it is not", ""},
		"two":        {"// Row 3 (any): a. Fails if b.\n// Row 4 (any): c. Fails if d.\n//\n// More.", "3 any|a|b; 4 any|c|d", ""},
		"points":     {"// Row 1 (any): at 1.5 s. and on. Fails if e.g. this.", "1 any|at 1.5 s. and on|e.g. this", ""},
		"no failure": {"// Row 3 (redislock): all is well.", "", "want \"Row"},
	} {
		t.Run(name, func(t *testing.T) {
			src := "package p\n" + c.comment + "\nfunc TestX() {}\n"
			file, err := parser.ParseFile(token.NewFileSet(), "x.go", src, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			proofs, err := proofsIn(file, "./p")
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Fatalf("error %v", err)
			}
			var got []string
			for _, p := range proofs {
				got = append(got, strings.Join([]string{string(rune('0'+p.row)) + " " + strings.Join(p.backends, "+"), p.outcome, p.fails}, "|"))
			}
			if s := strings.Join(got, "; "); s != c.want {
				t.Errorf("got %q", s)
			}
		})
	}
}

func TestIncomplete(t *testing.T) {
	err := complete([]proof{{row: 99, test: "TestA"}, {row: 1, backends: []string{"consul"}, test: "TestB"}, {row: 3, backends: []string{redis}}})
	for _, want := range []string{"TestA: there is no row 99", `TestB: there is no backend "consul"`, "row 1, ", "row 25, "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing from %v", want, err)
		}
	}
	if err != nil && strings.Contains(err.Error(), "row 3, ") {
		t.Errorf("row 3 is proved: %v", err)
	}
}
