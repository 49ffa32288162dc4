// Command distlockvet looks for //distlock:lock comments that do not do what they
// seem to do: misplaced, misspelt, doubled, or with a space after the slashes, so
// that the compiler takes them for prose; with options that do not exist or make
// no sense; on functions without a context or an error; and those for which
// distlockgen has generated nothing. It is run by the go command:
//
//	go vet -vettool=$(go tool -n distlockvet) ./...
//
// With -distlock.woven, comments on exported functions are for a weaver; then a
// program that has any, in whatever package, must call RequireWoven in its main
// package, or else it would run without its locks if it were built without the
// weaver.
package main

import "golang.org/x/tools/go/analysis/unitchecker"

func main() { unitchecker.Main(analyzer) }
