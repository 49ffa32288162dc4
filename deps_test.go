package distlock_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// A user of the root package pulls in no Redis client and no gRPC: it imports
// the standard library and google/uuid, and httpmw nothing but that and the
// root.
func TestImports(t *testing.T) {
	t.Parallel()
	const module = "github.com/distlock-go/distlock"
	for pkg, allowed := range map[string][]string{
		".":        {module, module + "/internal/rolling", "github.com/google/uuid"},
		"./httpmw": {module, module + "/httpmw", module + "/internal/rolling", "github.com/google/uuid"},
	} {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", pkg).Output()
		if err != nil {
			t.Fatalf("go list %s: %v", pkg, err)
		}
		got := strings.Fields(string(out))
		for _, dep := range got {
			if !slices.Contains(allowed, dep) {
				t.Errorf("%s depends on %s", pkg, dep)
			}
		}
		if len(got) != len(allowed) {
			t.Errorf("%s depends on %v, want exactly %v", pkg, got, allowed)
		}
	}
}
