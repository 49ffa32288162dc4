package main

import (
	"bytes"
	"os"
	"path/filepath"
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

// The gate names what is missing, and what is not known.
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
