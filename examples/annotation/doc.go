// Package shop shows all forms of the annotation. Each file contains the code as it
// would be without locks, and one comment for each method that declares its lock; the
// files that end in _distlock.go are generated from these comments.
package shop

//go:generate go run ../../gen/cmd/distlockgen
