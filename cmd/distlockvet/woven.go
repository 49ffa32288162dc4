package main

import (
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/distlock-go/distlock/internal/directive"
)

// weavePath is the import path of the package with Require.
const weavePath = "github.com/distlock-go/distlock/weave"

// wovenFact means that a package has directives for a weaver.
type wovenFact struct{}

// AFact makes it a fact that is passed on to importing packages.
func (*wovenFact) AFact() {}

func (*wovenFact) String() string { return "has woven directives" }

// unguarded reports programs that would run without their locks if they were built
// without the weaver.
func unguarded(pass *analysis.Pass) directive.Problems {
	if !woven || pass.Pkg.Name() != "main" {
		return nil
	}
	var in []string
	for _, fact := range pass.AllPackageFacts() {
		if _, ok := fact.Fact.(*wovenFact); ok {
			in = append(in, fact.Package.Path())
		}
	}
	if len(in) == 0 {
		return nil
	}
	for _, obj := range pass.TypesInfo.Uses {
		if f, ok := obj.(*types.Func); ok && f.Name() == "Require" && f.Pkg() != nil && f.Pkg().Path() == weavePath {
			return nil
		}
	}
	slices.Sort(in)
	return directive.Problems{{
		Pos:     pass.Files[0].Package,
		Message: "the program has woven directives (in " + strings.Join(in, ", ") + ") but does not call weave.Require: built without the weaver, it would run without locks",
	}}
}
