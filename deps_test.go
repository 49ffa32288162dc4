package distlock_test

import (
	"os/exec"
	"strings"
	"testing"
)

// A user of the root package does not get a Redis client or gRPC: it imports the
// standard library and google/uuid, and httpmw only those and the root.
func TestImports(t *testing.T) {
	t.Parallel()
	const module = "github.com/distlock-go/distlock"
	for _, pkg := range []string{".", "./driver", "./httpmw"} {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", pkg).Output()
		if err != nil {
			t.Fatalf("go list %s: %v", pkg, err)
		}
		for dep := range strings.FieldsSeq(string(out)) {
			own := dep == module || dep == module+"/driver" || dep == module+"/httpmw" || strings.HasPrefix(dep, module+"/internal/")
			if !own && dep != "github.com/google/uuid" {
				t.Errorf("%s depends on %s", pkg, dep)
			}
		}
	}
}
