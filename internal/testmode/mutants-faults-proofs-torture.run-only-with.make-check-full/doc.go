// Package message exists for its path. For a package whose tests pass, go test ./...
// prints only ok and the path, so this path says what was skipped and how to run it.
// The test of the package checks that the Makefile agrees.
package message
