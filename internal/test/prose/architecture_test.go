package prose

import (
	"fmt"
	"strings"
	"testing"
)

// The table of layers in docs/architecture.md is the one of TestLayers.
func TestArchitectureHasTheLayers(t *testing.T) {
	t.Parallel()
	page := read(t, "docs/architecture.md")
	for _, l := range layers {
		uses := strings.ReplaceAll(l.uses, " ", ", ")
		if uses == "" {
			uses = "–"
		}
		var packages []string
		for p := range strings.FieldsSeq(l.packages) {
			packages = append(packages, "`"+p+"`")
		}
		row := fmt.Sprintf("| %s | %s | %s |\n", l.name, strings.Join(packages, ", "), uses)
		if strings.Count(page, row) != 1 {
			t.Errorf("docs/architecture.md should have the row\n%s", row)
		}
	}
}
