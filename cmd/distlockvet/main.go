// Command distlockvet looks for //distlock:lock comments that do not do what they
// seem to do: misplaced, misspelt, doubled, or with a space after the slashes, so
// that the compiler takes them for prose; with options that do not exist or make
// no sense; on functions without a context or an error; and those for which
// distlockgen has generated nothing. It is run by itself, or by the go command, which
// caches its results:
//
//	distlockvet ./...
//	go vet -vettool=$(go tool -n distlockvet) ./...
//
// distlockvet -version prints the version.
//
// With -distlock.woven, comments on exported functions are for a weaver; then a
// program that has any, in whatever package, must call RequireWoven in its main
// package, or else it would run without its locks if it were built without the
// weaver.
package main

import (
	"os"

	"golang.org/x/tools/go/analysis/multichecker"

	"github.com/distlock-go/distlock/cmd/internal/version"
)

func main() {
	// Not a flag: the go command asks for the flags, too.
	if len(os.Args) == 2 && (os.Args[1] == "-version" || os.Args[1] == "--version") {
		_, _ = os.Stdout.WriteString(version.Line("distlockvet"))
		return
	}
	multichecker.Main(analyzer)
}
