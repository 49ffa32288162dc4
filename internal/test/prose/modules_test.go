package prose

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/distlock-go/distlock/internal/test/testmode"
)

// TestModuleOutside writes a module that pins the oldest versions of grpc and chi that
// this module allows, and imports httpmw and redislock: go mod tidy leaves both versions
// as they are, and adds nothing that only the other backends, the commands, the
// benchmarks or the proofs need. Nor does the generator raise a
// version. A higher version in go.mod is a higher version for all users.
func TestModuleOutside(t *testing.T) {
	testmode.Long(t)
	root, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	pinned := map[string]string{"github.com/go-chi/chi/v5": "v5.2.4", "google.golang.org/grpc": "v1.79.3"}
	mod := fmt.Sprintf("module example.com/outside\n\ngo 1.26.0\n\nrequire %s v0.0.0\n\nreplace %[1]s => %s\n", modulePath, root)
	program := fmt.Sprintf("package main\n\nimport (\n\t_ %q\n\t_ %q\n", modulePath+"/backend/redislock", modulePath+"/httpmw")
	for path, version := range pinned {
		mod += fmt.Sprintf("\nrequire %s %s\n", path, version)
		program += fmt.Sprintf("\t_ %q\n", path)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": mod, "main.go": program + ")\n\nfunc main() {}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	golang := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}

	golang("mod", "tidy")
	for path, version := range pinned {
		if got := strings.TrimSpace(golang("list", "-m", "-f", "{{.Version}}", path)); got != version {
			t.Errorf("%s is %s, want %s", path, got, version)
		}
	}
	all := golang("list", "-m", "all")
	for _, path := range []string{
		"github.com/anishathalye/porcupine", "github.com/go-sql-driver/mysql",
		"github.com/go-zookeeper/zk",
		"github.com/jackc/pgx/v5", "github.com/rogpeppe/go-internal", "github.com/schollz/progressbar/v3", "github.com/urfave/cli/v3",
		"go.etcd.io/etcd/client/v3", "modernc.org/sqlite",
	} {
		if strings.Contains(all, path+" ") {
			t.Errorf("it has %s", path)
		}
	}
	golang("build", "-o", filepath.Join(dir, "program"), ".")

	// The generator as a tool of that module. It may raise what belongs to Go's tools.
	gen := modulePath + "/gen"
	golang("mod", "edit", "-require", gen+"@v0.0.0", "-replace", gen+"="+filepath.Join(root, "gen"),
		"-tool", gen+"/cmd/distlockgen", "-tool", gen+"/cmd/distlockvet")
	golang("mod", "tidy")
	with := golang("list", "-m", "all")
	for line := range strings.Lines(all) {
		if !strings.HasPrefix(line, "golang.org/x/") && !strings.HasPrefix(line, modulePath) && !strings.Contains(with, line) {
			t.Errorf("with the generator it does not have %s", line)
		}
	}
	if out := golang("tool", "distlockgen", "-version"); !strings.HasPrefix(out, "distlockgen ") {
		t.Errorf("the generator printed %q", out)
	}
}
