package main

import (
	"golang.org/x/tools/go/analysis"

	"github.com/distlock-go/distlock/gen/internal/generate"
)

var analyzer = &analysis.Analyzer{
	Name: "distlock",
	Doc: "report //distlock:lock and //distlock:defaults comments that do nothing or are wrong\n\n" +
		"They are reported if they are misplaced, misspelt, doubled, spaced, have unknown or\n" +
		"senseless options, or stand on a function without a context or an error.",
	URL: "https://pkg.go.dev/github.com/distlock-go/distlock/gen/cmd/distlockvet",
	Run: run,

	// A misspelt directive generates nothing, so callers of the generated function do not compile.
	RunDespiteErrors: true,
}

func run(pass *analysis.Pass) (any, error) {
	for _, p := range generate.Vet(pass).Sort(pass.Fset) {
		d := analysis.Diagnostic{Pos: p.Pos, Message: p.Message}
		if fix := p.Fix; fix.Text != "" {
			d.SuggestedFixes = []analysis.SuggestedFix{{
				Message:   "Write " + fix.Text,
				TextEdits: []analysis.TextEdit{{Pos: fix.Pos, End: fix.End, NewText: []byte(fix.Text)}},
			}}
		}
		pass.Report(d)
	}
	return nil, nil //nolint:nilnil // the analyzer has no result
}
