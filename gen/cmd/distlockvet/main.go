// Command distlockvet reports //distlock:lock comments that have no effect or a wrong
// one: comments that are misplaced, misspelt, duplicated, or have a space after the
// slashes, so that the compiler treats them as text; comments with unknown or
// contradictory options; and comments on functions without a context or an error. If the
// comments are right, it reports generated code that is missing or not up to date, as
// distlockgen -check does, and each use of a function around its lock: a call s.reserve
// where s.Reserve is generated, a value s.reserve, go s.reserve(…), and a call through an
// interface of the package that has its method. The function may call itself, and tests may
// call it. A comment with the reason allows a use on its line or the
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

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/multichecker"

	"github.com/distlock-go/distlock/gen/internal/generate"
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

var analyzer = &analysis.Analyzer{
	Name: "distlock",
	Doc: "report //distlock:lock comments that are wrong, and functions that are used without their lock\n\n" +
		"Comments are wrong if they are misplaced, misspelt, doubled, spaced, have unknown or\n" +
		"senseless options, or stand on a function without a context or an error. A function is\n" +
		"used without its lock if its name is used in the place of the generated one, outside\n" +
		"of tests. Generated code that is missing or not up to date is reported, too.",
	URL: "https://pkg.go.dev/github.com/distlock-go/distlock/gen/cmd/distlockvet",
	Run: run,

	// A misspelt directive generates nothing, so callers of the generated function do not compile.
	RunDespiteErrors: true,
}

func run(pass *analysis.Pass) (any, error) {
	problems, err := generate.Vet(pass)
	for _, p := range problems.Sort(pass.Fset) {
		pass.Report(analysis.Diagnostic{Pos: p.Pos, Message: p.Message})
	}
	return nil, err // the analyzer has no result
}
