package weave_test

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/distlock-go/distlock/internal/directive"
)

// The options that the template names, because it treats them differently, are options
// of directives. It takes all others from the fields of distlock.Opts.
func TestOptions(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("orchestrion.yml")
	if err != nil {
		t.Fatal(err)
	}
	known := directive.Options()
	named := regexp.MustCompile(`eq? \.Key "(\w+)"`).FindAllStringSubmatch(string(text), -1)
	for _, m := range named {
		if !slices.Contains(known, m[1]) {
			t.Errorf("the template names %s, but the options are %q", m[1], known)
		}
	}
	if len(named) == 0 {
		t.Error("the template names no options")
	}
}
