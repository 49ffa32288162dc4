package prose

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"github.com/distlock-go/distlock"
)

// examples are the files with the code of each page. A Chinese page has no other code than its
// English one: see TestChinesePages.
var examples = map[string][]string{
	"README.md":                    {"example*_test.go", "httpmw/example_test.go", "backend/sqllock/example*_test.go"},
	"docs/cookbook.md":             {"internal/cookbook/*.go", "example_lease_test.go", "grpcmw/example_test.go", "cmd/distlock/testdata/script/c*.txtar"},
	"docs/drivers.md":              {"driver/example_backend_test.go", "driver/backend_test.go"},
	"docs/from-distributedlock.md": {"examples/from/springaspect/*_test.go"},
	"docs/guide.md":                {"example*_test.go", "httpmw/example*_test.go", "wiring/example_test.go", "admin/example_test.go", "backend/sqllock/example*_test.go", "examples/annotation/service.go", "lab/proof/telemetry/example_test.go"},
	"docs/migrating.md":            {"examples/from/*/*_test.go"},
	"docs/operations.md":           {"example*_test.go", "admin/example_test.go", "backend/redislock/example_test.go"},
	"docs/quick.md":                {"example*_test.go", "httpmw/example_test.go"},
	"docs/testing.md":              {"internal/test/root/example_testing_test.go"},
}

// Every line of code in these pages is also in an example, which compiles and runs.
func TestPagesAreInTheExamples(t *testing.T) {
	t.Parallel()
	pages, err := fs.Glob(os.DirFS(root), "docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	for _, page := range pages {
		if strings.Contains(read(t, page), "```go\n") && examples[page] == nil && !strings.HasSuffix(page, chinese("")) {
			t.Errorf("%s has Go code, and no examples are named for it", page)
		}
	}
	for page, examples := range examples {
		known := map[string]bool{}
		for _, pattern := range examples {
			names, err := fs.Glob(os.DirFS(root), pattern)
			if err != nil || len(names) == 0 {
				t.Fatalf("%s: %q, %v", pattern, names, err)
			}
			for _, name := range names {
				for line := range strings.Lines(read(t, name)) {
					known[plain(line)] = true
				}
			}
		}
		blocks := codeBlocks.FindAllStringSubmatch(read(t, page), -1)
		if len(blocks) == 0 {
			t.Errorf("%s has no code in it", page)
		}
		for _, block := range blocks {
			if strings.HasPrefix(block[1], "package main\n") {
				continue // TestTheProgramOfTheREADMERuns
			}
			for line := range strings.Lines(block[1]) {
				if !known[plain(line)] {
					t.Errorf("%s: in no example: %s", page, line)
				}
			}
		}
	}
}

// codeBlocks finds the code in a page. What a console shows is not code.
var codeBlocks = regexp.MustCompile(`(?ms)^ *` + "```(?:crontab|go|ini|proto|sh|yaml)\n(.*?)\n *```$")

// docs/options.md has every option.
func TestOptionsAreOnTheirPage(t *testing.T) {
	t.Parallel()
	opts, config, found := strings.Cut(read(t, "docs/options.md"), "\n## Of a Locker\n")
	if !found {
		t.Fatal("the page has no section about the Locker")
	}
	for text, options := range map[string]reflect.Type{opts: reflect.TypeFor[distlock.Opts](), config: reflect.TypeFor[distlock.Config]()} {
		var rows []string // the first cell of each
		for _, row := range regexp.MustCompile(`(?m)^\| (`+"`"+`[^|]*) \|`).FindAllStringSubmatch(text, -1) {
			rows = append(rows, strings.Split(strings.Trim(row[1], "`"), "`, `")...)
		}
		var fields []string
		for _, field := range reflect.VisibleFields(options) {
			fields = append(fields, field.Name)
		}
		slices.Sort(rows)
		slices.Sort(fields)
		if !slices.Equal(rows, fields) {
			t.Errorf("the page has %q, and %v has %q", rows, options, fields)
		}
	}
}

// TestTheProgramOfTheREADMERuns compiles and runs the main.go of the README, with the address of
// another Redis.
func TestTheProgramOfTheREADMERuns(t *testing.T) {
	t.Parallel()
	server := miniredis.RunT(t)
	server.ClockTTL(true)
	_, program, found := strings.Cut(read(t, "README.md"), "```go\npackage main\n")
	program, _, closed := strings.Cut(program, "```")
	if !found || !closed || strings.Count(program, "127.0.0.1:6379") != 1 {
		t.Fatalf("the README has no program with an address:\n%s", program)
	}
	main := filepath.Join(t.TempDir(), "main.go")
	program = "package main\n" + strings.Replace(program, "127.0.0.1:6379", server.Addr(), 1)
	if err := os.WriteFile(main, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "run", main).CombinedOutput()
	if err != nil || string(out) != "order 42 paid <nil>\n" {
		t.Errorf("%v: %s", err, out)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// plain returns a line without its comment, unless the comment is a directive. The parts
// that an example needs to run without Redis or a caller are replaced by those of the
// page.
func plain(line string) string {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "//go:") && !strings.HasPrefix(line, "//distlock:") {
		line, _, _ = strings.Cut(line, "//")
	}
	return strings.TrimSpace(strings.ReplaceAll(line, "context.Background()", "ctx"))
}
