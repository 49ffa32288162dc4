package generate

import (
	"go/ast"
	"go/parser"
	"go/types"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/gen/internal/directive"
	"github.com/distlock-go/distlock/internal/optfield"
)

// Each option of a directive is a field of the literal. Params is not, because what is
// generated passes the parameters itself.
func TestOptionsOfALiteral(t *testing.T) {
	t.Parallel()
	text := directive.Marker
	var want []string
	for _, field := range optfield.All() {
		if field.Name == "Params" {
			continue
		}
		want = append(want, field.Name)
		text += " " + field.Directive() + ":" + sample(field)
	}
	lock, _ := directive.Parse(text, 1) // it need not be valid
	f := &file{names: &names{
		pkg: types.NewScope(nil, 0, 0, ""), file: types.NewScope(nil, 0, 0, ""),
		written: map[string]bool{}, taken: map[string]bool{}, bound: map[string]bool{},
	}}
	source := f.options(&site{Site: &directive.Site{Lock: lock}})
	expr, err := parser.ParseExpr(source)
	if err != nil {
		t.Fatalf("%v in\n%s", err, source)
	}
	var got []string
	for _, e := range expr.(*ast.CompositeLit).Elts {
		got = append(got, e.(*ast.KeyValueExpr).Key.(*ast.Ident).Name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the literal has %q, want %q, for %s", got, want, text)
	}
}

// sample returns a text for a value that is not zero.
func sample(field optfield.Field) string {
	if field.Of == nil {
		return "expression"
	}
	switch field.Of(new(distlock.Opts)).(type) {
	case *bool:
		return "true"
	case *int:
		return "7"
	case *time.Duration:
		return "7s"
	case *distlock.Mode:
		return distlock.Shared.String()
	default:
		return strings.ToLower(field.Name)
	}
}
