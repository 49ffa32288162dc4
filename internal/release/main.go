// Command release does what a release of this repository's modules needs:
//
//	go run ./internal/release prepare v0.2.0   write the version into every go.mod, and close the CHANGELOG
//	go run ./internal/release check v0.2.0     try the release in a clone, before the tags are pushed
//	go run ./internal/release tags v0.2.0      print the tags, one for each module
//	go run ./internal/release notes v0.2.0     print what the CHANGELOG says about the version
//
// It runs in the root of the repository. RELEASING.md has all steps.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"
)

func main() {
	if err := run(context.Background(), os.Stdout, os.Args[1:]...); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

var versions = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$`)

func run(ctx context.Context, out io.Writer, args ...string) error {
	if len(args) != 2 || !versions.MatchString(args[1]) {
		return errors.New("usage: go run ./internal/release prepare|check|tags|notes vX.Y.Z")
	}
	version := args[1]
	switch args[0] {
	case "prepare":
		return prepare(version, time.Now())
	case "check":
		return check(ctx, out, version)
	case "tags":
		_, err := fmt.Fprintln(out, strings.Join(tags(version), "\n"))
		return err
	case "notes":
		text, err := os.ReadFile(changelog)
		if err != nil {
			return err
		}
		notes, err := notes(string(text), version)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(out, notes)
		return err
	default:
		return fmt.Errorf("there is no command %q", args[0])
	}
}
