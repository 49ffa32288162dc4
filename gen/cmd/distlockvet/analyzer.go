package main

import (
	"golang.org/x/tools/go/analysis"

	"github.com/distlock-go/distlock/gen/internal/generate"
)

var analyzer = &analysis.Analyzer{
	Name: "distlock",
	Doc: "report //distlock:lock comments that do nothing or are wrong\n\n" +
		"They are reported if they are misplaced, misspelt, doubled, spaced, have unknown or\n" +
		"senseless options, stand on a function without a context or an error, or if what was\n" +
		"generated for them is missing or old.",
	URL: "https://pkg.go.dev/github.com/distlock-go/distlock/gen/cmd/distlockvet",
	Run: run,
}

func run(pass *analysis.Pass) (any, error) {
	for _, p := range generate.Vet(pass).Sort(pass.Fset) {
		pass.Reportf(p.Pos, "%s", p.Message)
	}
	return nil, nil //nolint:nilnil // the analyzer has no result
}
