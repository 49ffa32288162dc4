// Command matrix writes docs/matrix.md: how many tests prove the outcome of which fault on
// which backend. It reads the doc comments of the tests, where a line such as
//
//	// Row 7 (redislock, redlock): the holder is told first.
//
// says what the test proves.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

//go:generate go run . -w

func main() {
	root, err := filepath.Abs("../../..")
	if err == nil {
		err = run(root, len(os.Args) == 2 && os.Args[1] == "-w")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "matrix:", err)
		os.Exit(1)
	}
}

// page is the generated file.
const page = "docs/matrix.md"

// run writes the page, or prints it if write is false.
func run(root string, write bool) error {
	proofs, err := collect(root)
	if err != nil {
		return err
	}
	if err := complete(proofs); err != nil {
		return err
	}
	var out bytes.Buffer
	render(&out, proofs)
	if !write {
		_, err := out.WriteTo(os.Stdout)
		return err
	}
	return os.WriteFile(filepath.Join(root, page), out.Bytes(), 0o644) //nolint:gosec // documentation is public
}
