package main

import (
	"bytes"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestPage checks that each row has a test for each of its backends, and that the page
// in the repository is up to date.
func TestPage(t *testing.T) {
	root := filepath.Join("..", "..", "..")
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
		t.Errorf("%s is not up to date: run go generate ./internal/test/matrix", page)
	}
}

func TestProofs(t *testing.T) {
	for comment, want := range map[string]string{
		"// TestX is of no row.":                                     "",
		"// TestX does.\n// Row 3 (redislock, zklock): all is well.": "3 redislock+zklock",
		"// Row 3 (any): a. Fails if b.\n// Row 4 (any): c.":         "3 any; 4 any",
		"// Row 3: all is well.":                                     "error",
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package p\n"+comment+"\nfunc TestX() {}\n", parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		proofs, err := proofsIn(file)
		var got []string
		for _, p := range proofs {
			got = append(got, strconv.Itoa(p.row)+" "+strings.Join(p.backends, "+"))
		}
		if err != nil {
			got = []string{"error"}
		}
		if s := strings.Join(got, "; "); s != want {
			t.Errorf("%s: got %q, want %q", comment, s, want)
		}
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
