// Package shop shows the annotation in all its forms. In each file the code is
// what it would be without locks, and one comment for each method declares its
// lock; the files that end in _distlock.go are generated from these comments.
package shop

//go:generate go run ../cmd/distlockgen
