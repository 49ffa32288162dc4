// Command retest runs go test and prints its output. A test in real time that failed
// is run once more by itself at the end, with its output in the log, too, because it
// can fail on a busy machine. The run fails if such a test fails twice, if any other
// test fails once, and after a data race, a panic or a leak. The last lines list the
// tests that needed the second try and the tests that were skipped.
//
//	go run ./internal/retest [flags of go test, as -name=value] packages
//
// Tests in real time are the tests marked by package testmode.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

func main() {
	flags, packages := split(os.Args[1:])
	if len(packages) == 0 {
		fmt.Fprintln(os.Stderr, "usage: retest [flags of go test, as -name=value] packages")
		os.Exit(2)
	}
	if err := run(os.Stdout, goTest, flags, packages); err != nil {
		fmt.Fprintln(os.Stderr, "retest:", err)
		os.Exit(1)
	}
}

// split separates the flags from the packages.
func split(args []string) (flags, packages []string) {
	for i, a := range args {
		if !strings.HasPrefix(a, "-") {
			return args[:i], args[i:]
		}
	}
	return args, nil
}

// goTest runs go test -json with args and passes its output to read.
func goTest(args []string, read func(io.Reader) error) error {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...) //nolint:gosec // the caller's own command line
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	return errors.Join(read(out), cmd.Wait())
}

// mostTries limits how many tests get a second try. More failures than that do not come
// from a busy machine.
const mostTries = 10

// run runs the tests of the packages, and runs the tests again that may have failed
// because the machine was busy. It returns an error if the run has failed.
func run(out io.Writer, test func([]string, func(io.Reader) error) error, flags, packages []string) error {
	p := &printer{w: out}
	first := newReport()
	firstErr := test(slices.Concat(flags, packages), func(r io.Reader) error { return first.read(r, p) })
	again, wrong := first.failures()
	if firstErr != nil && len(again) == 0 && len(wrong) == 0 {
		wrong = append(wrong, firstErr.Error())
	}
	if len(again) > mostTries {
		wrong = append(wrong, fmt.Sprintf("%d tests in real time, too many for a second try", len(again)))
		again = nil
	}
	var passed []string
	for _, id := range again {
		p.printf("\n== %s in real time failed; once more by itself\n", id)
		second := newReport()
		second.verbose = true
		args := slices.Concat(flags, []string{"-count=1", "-run=^" + id.test + "$", id.pkg})
		err := test(args, func(r io.Reader) error { return second.read(r, p) })
		if err == nil && second.passed(id) {
			passed = append(passed, id.String())
		} else {
			wrong = append(wrong, id.String()+", twice")
		}
	}
	p.printf("\n%s\n", first.summary())
	if len(passed) > 0 {
		p.printf("needed a second try, and passed: %s\n", strings.Join(passed, ", "))
	}
	if len(wrong) > 0 {
		return fmt.Errorf("failed: %s", strings.Join(wrong, ", "))
	}
	return p.err
}

// printer keeps the first write error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(p.w, format, args...); p.err == nil {
		p.err = err
	}
}
