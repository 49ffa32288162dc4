// Package message has its name for those who run go test ./..., which prints nothing
// of a package whose tests pass but its path and ok. So this path says what was left
// out, and how to run it. Its test holds the Makefile to that.
package message
