// Command retest runs go test and prints what it prints. A test in real time that
// failed is run once more by itself at the end, with its output in the log, too: a
// machine that is busy can fail it. A test that fails twice fails the run, and so does
// every other test that fails once, a data race, a panic, a leak. The last lines say
// which tests needed the second try, and which were left out.
//
//	go run ./internal/retest [flags of go test, as -name=value] packages
//
// Tests in real time are those with the mark of package testmode.
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

// split parts the flags from the packages.
func split(args []string) (flags, packages []string) {
	for i, a := range args {
		if !strings.HasPrefix(a, "-") {
			return args[:i], args[i:]
		}
	}
	return args, nil
}

// goTest runs go test -json with args and has read read what it prints.
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

// mostTries bounds how many tests have a second try. So many do not fail because a
// machine is busy.
const mostTries = 10

// run runs the tests of the packages, and those once more that may have failed for
// nothing. It returns an error if the run has failed.
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

// printer keeps the first error of writing.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(p.w, format, args...); p.err == nil {
		p.err = err
	}
}
