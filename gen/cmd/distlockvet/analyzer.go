package main

import (
	"golang.org/x/tools/go/analysis"

	"github.com/distlock-go/distlock/gen/internal/generate"
)

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
