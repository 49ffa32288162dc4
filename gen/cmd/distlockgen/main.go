// Command distlockgen writes the functions for //distlock:lock comments.
//
// Usage:
//
//	distlockgen [-check] [packages]
//	distlockgen -version
//
// A comment on an unexported function or method
//
//	//distlock:lock prefix:shop: value:pay param:orderID keyTimeout:10s
//	func (s *Service) pay(ctx context.Context, userID string, orderID int64) (Receipt, error) {
//
// generates an exported method Pay with the same signature, which runs pay under the
// lock. A comment on a method of an interface generates a type that runs the methods of
// another implementation under their locks. It is called Locked and the interface's
// name, and its constructor takes the Locker. as:Name chooses another name.
//
// A function finds its Locker in its receiver, as s.locker, or without a receiver in
// the package, as locker; locker:expression names another one. Expressions can use the
// receiver and the parameters.
//
// Without the generated code the package does not compile, because Pay is missing. The
// output for pay.go is pay_distlock.go; files without a comment in their source are
// removed. With -check nothing is written, and the exit status is 1 if a file is not up
// to date. A file that is not part of the build, because of GOOS or -tags, is not written
// either, but reported with exit status 1 if the comments of its source have changed.
//
// Package patterns are as for the go command. The default is the package in
// the current directory, for use as
//
//	//go:generate go tool distlockgen
package main

import (
	"errors"
	"flag"
	"io"
	"os"

	"github.com/distlock-go/distlock/gen/internal/generate"
	"github.com/distlock-go/distlock/internal/version"
)

func main() {
	os.Exit(run(".", os.Args[1:], os.Stdout, os.Stderr))
}

// writeAll writes the files, or with check says which are not up to date.
func writeAll(dir string, patterns []string, check bool) error {
	files, err := generate.Packages(dir, patterns)
	for _, f := range files {
		err = errors.Join(err, f.Write(check))
	}
	return err
}

// run returns the exit status: 1 for problems, 2 for a wrong command line.
func run(dir string, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("distlockgen", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		_, _ = io.WriteString(stderr, "usage: distlockgen [-check] [packages]\n")
		flags.PrintDefaults()
	}
	check := flags.Bool("check", false, "write nothing; fail if a file is not up to date")
	printVersion := flags.Bool("version", false, "print the version")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if *printVersion {
		_, _ = io.WriteString(stdout, version.Line(flags.Name()))
		return 0
	}
	patterns := flags.Args()
	if len(patterns) == 0 {
		patterns = []string{"."}
	}
	if err := writeAll(dir, patterns, *check); err != nil {
		_, _ = io.WriteString(stderr, err.Error()+"\n")
		return 1
	}
	return 0
}
