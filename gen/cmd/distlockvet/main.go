// Command distlockvet reports //distlock:lock comments that have no effect or a wrong
// one: comments that are misplaced, misspelt, duplicated, or have a space after the
// slashes, so that the compiler treats them as text; comments with unknown or
// contradictory options; and comments on functions without a context or an error. If the
// comments are right, it reports generated code that is missing or not up to date, as
// distlockgen -check does, and each use of a function around its lock: a call s.reserve
// where s.Reserve is generated, a value s.reserve, go s.reserve(…). The function may call
// itself, and tests may call it. A comment with the reason allows a use on its line or the
// next one:
//
//	//distlock:allow the caller holds the lock of all orders
//	err := s.reserve(ctx, sku)
//
// Run it by itself, or with the go command, which caches its results:
//
//	distlockvet ./...
//	go vet -vettool=$(go tool -n distlockvet) ./...
//
// distlockvet -version prints the version.
package main

import (
	"os"

	"golang.org/x/tools/go/analysis/multichecker"

	"github.com/distlock-go/distlock/internal/version"
)

func main() {
	// Not a flag of the analyzer, because the go command asks for its flags, too.
	if len(os.Args) == 2 && (os.Args[1] == "-version" || os.Args[1] == "--version") {
		_, _ = os.Stdout.WriteString(version.Line("distlockvet"))
		return
	}
	multichecker.Main(analyzer)
}
