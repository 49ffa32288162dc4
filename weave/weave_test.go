package weave_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/distlock-go/distlock/internal/directive"
)

// The weaver's instructions know the options of the one grammar, but for those that
// mean nothing to it.
func TestOptions(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("orchestrion.yml")
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	for _, m := range regexp.MustCompile(`eq \.Key((?: "\w+")+)`).FindAllStringSubmatch(string(text), -1) {
		known = append(known, strings.Split(strings.ReplaceAll(m[1][1:], `"`, ""), " ")...)
	}
	slices.Sort(known)
	known = slices.Compact(known)
	want := slices.DeleteFunc(directive.Options(), func(name string) bool { return name == "as" })
	slices.Sort(want)
	if !slices.Equal(known, want) {
		t.Errorf("the weaver knows %q, the grammar %q", known, want)
	}
}
