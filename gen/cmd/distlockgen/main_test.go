package main

import (
	"bytes"
	"flag"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/distlock-go/distlock/internal/test/testmode"
)

// suffix ends the names of generated files.
const suffix = "_distlock.go"

var update = flag.Bool("update", false, "write the golden files anew")

// must runs the command in dir, checks the exit status, and returns the output.
func must(t *testing.T, dir string, status int, args ...string) string {
	t.Helper()
	var stderr bytes.Buffer
	if got := run(dir, args, io.Discard, &stderr); got != status {
		t.Fatalf("distlockgen %s in %s: status %d, want %d\n%s", strings.Join(args, " "), dir, got, status, &stderr)
	}
	return stderr.String()
}

func golang(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestGolden checks that the code for functions and methods of many shapes has not changed, and
// that it compiles.
func TestGolden(t *testing.T) {
	if *update {
		must(t, "testdata", 0, "./shop")
	}
	must(t, "testdata", 0, "-check", "./shop")
	if out, err := golang(t, "testdata", "vet", "./shop"); err != nil {
		t.Errorf("go vet: %v\n%s", err, out)
	}
}

// golden compares got with the content of a file.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", file, got, want)
	}
}

// TestErrors checks that all mistakes in a package are reported at once, with file,
// line and column, and that nothing is generated.
func TestErrors(t *testing.T) {
	golden(t, "testdata/wrong/want.txt", must(t, "testdata/wrong", 1))
	if files, _ := filepath.Glob("testdata/wrong/*" + suffix); len(files) > 0 {
		t.Errorf("generated %v", files)
	}
}

// module creates a module with the files and returns its directory.
func module(t *testing.T, files map[string]string) string {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	files = maps.Clone(files)
	files["go.sum"] = string(sums)
	files["go.mod"] = "module example.com/fresh\n\ngo 1.26.0\n\nrequire (\n\tgithub.com/distlock-go/distlock v0.0.0\n\tgithub.com/google/uuid v1.6.0\n)\n\n" +
		"replace github.com/distlock-go/distlock => " + root + "\n"
	dir := t.TempDir()
	for name, text := range files {
		write(t, filepath.Join(dir, name), text)
	}
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("GOWORK", "off")
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

const (
	freshPay = `package pay

import (
	"context"

	"github.com/distlock-go/distlock"
)

type Service struct{ locker *distlock.Locker }

//distlock:lock prefix:shop: value:pay param:orderID
func (s *Service) pay(ctx context.Context, orderID int64) error { return nil }

func use(ctx context.Context, s *Service) error { return s.Pay(ctx, 1) }
`
	freshCaller = `package main

import (
	"context"

	"github.com/distlock-go/distlock"

	"example.com/fresh/pay"
)

var locker *distlock.Locker

type job struct{ service pay.Service }

//distlock:lock value:job key:j.name()
func (j *job) run(ctx context.Context) error { return j.service.Pay(ctx, 1) }

func (j *job) name() string { return "night" }

func (j *job) Locker() *distlock.Locker { return locker }

func main() {}
`
)

// TestFresh starts with a fresh clone: without the generated code it does not compile,
// so nothing can run without a lock; with it everything compiles. Generating twice
// gives the same code, and -check detects files that are not up to date.
func TestFresh(t *testing.T) {
	testmode.Long(t)
	dir := module(t, map[string]string{
		"pay/pay_linux.go": freshPay, "pay/pay_windows.go": freshPay, "pay/pay_darwin.go": freshPay,
		"main.go": strings.Replace(freshCaller, "key:j.name()", "key:j.name() locker:j.Locker()", 1),
	})
	if out, err := golang(t, dir, "build", "./..."); err == nil || !strings.Contains(out, "s.Pay undefined") {
		t.Fatalf("without generated code: %v\n%s", err, out)
	}
	if out := must(t, dir, 1, "-check", "./..."); !strings.Contains(out, "main_distlock.go: missing") {
		t.Errorf("-check of nothing: %s", out)
	}
	must(t, dir, 0, "./...")
	if out, err := golang(t, dir, "vet", "./..."); err != nil {
		t.Fatalf("with generated code: %v\n%s", err, out)
	}
	first := generatedIn(t, dir)
	must(t, dir, 0, "./...")
	if !maps.Equal(first, generatedIn(t, dir)) {
		t.Error("generated twice, it is not the same")
	}
	must(t, dir, 0, "-check", "./...")

	// another option
	main := filepath.Join(dir, "main.go")
	write(t, main, strings.Replace(freshCaller, "key:j.name()", "key:j.name() locker:locker keyTimeout:1m", 1))
	if out := must(t, dir, 1, "-check", "./..."); !strings.Contains(out, "main_distlock.go: not up to date") {
		t.Errorf("-check of an old file: %s", out)
	}
	must(t, dir, 0, ".")
	must(t, dir, 0, "-check", "./...")
}

// TestPackagesInComments checks that expressions can use packages that the source does not
// import: of the library, of the module, of the standard library, and by a name that
// another file gives to one. That file also has the defaults of the package.
func TestPackagesInComments(t *testing.T) {
	files := map[string]string{
		"shop.go": `package fresh

import (
	"context"

	"github.com/distlock-go/distlock"
)

var locker *distlock.Locker

//distlock:lock prefix:shop: value:reserve paramLock keyFormat:javakey.Aspect
func reserve(ctx context.Context, sku string) error { return nil }

//distlock:lock value:pay paramLock hasher:digest.Short
func pay(ctx context.Context, order int64) error { return nil }

//distlock:lock value:move key:strconv.FormatInt(to,2) key:text.Title(from)
func move(ctx context.Context, from string, to int64) error { return nil }

func use(ctx context.Context) error { return errors(Reserve(ctx, "a"), Pay(ctx, 1), Move(ctx, "b", 2)) }
`,
		"other.go": `package fresh

import (
	everything "errors"
	text "strings"
)

func errors(all ...error) error { return everything.Join(all...) }

func upper(s string) string { return text.ToUpper(s) }
`,
		"internal/digest/digest.go": "package digest\n\nimport \"github.com/distlock-go/distlock\"\n\nvar Short = distlock.Keyed(make([]byte, 16))\n",
		"main/main.go":              "package main\n\nfunc main() {}\n",
	}
	dir := module(t, files)
	t.Chdir(dir) // whose go.mod says which packages there are
	must(t, dir, 0)
	must(t, dir, 0, "-check")
	if out, err := golang(t, dir, "vet", "."); err != nil {
		t.Errorf("go vet: %v\n%s", err, out)
	}
	made := generatedIn(t, dir)[filepath.Join(dir, "shop_distlock.go")]
	for _, path := range []string{"\"example.com/fresh/internal/digest\"", "\"github.com/distlock-go/distlock/javakey\"", "\"strconv\"", "text \"strings\""} {
		if !strings.Contains(made, "\t"+path+"\n") {
			t.Errorf("it does not import %s:\n%s", path, made)
		}
	}

	write(t, filepath.Join(dir, "shop.go"), strings.Replace(files["shop.go"], "digest.Short", "nowhere.Short", 1))
	if out := must(t, dir, 1); out != "shop.go:14:44: undefined: nowhere\n" {
		t.Errorf("got %s", out)
	}
}

func generatedIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"*" + suffix, "*/*" + suffix} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all[file] = string(text)
		}
	}
	return all
}

// TestBuildConstraint checks that the generated file has the build constraints of its
// source, that the file of a source for another build stays, and that the file of a source
// without comments goes.
func TestBuildConstraint(t *testing.T) {
	const elsewhere = "//go:build elsewhere\n\npackage fresh\n"
	goos, goarch := goenv(t, "GOOS"), goenv(t, "GOARCH")
	other := "other_" + goos + "_" + goarch
	dir := module(t, map[string]string{
		"elsewhere.go": elsewhere, "elsewhere_distlock.go": "// Code generated by distlockgen from elsewhere.go. DO NOT EDIT.\n\n" + elsewhere,
		"plain.go": "package fresh\n", "plain_distlock.go": "// Code generated by distlockgen from plain.go. DO NOT EDIT.\n\npackage fresh\n",
		"linux.go":    "//go:build unix || plan9\n\n" + strings.Replace(freshPay, "package pay", "package fresh", 1),
		other + ".go": "//go:build !ignore\n\npackage fresh\n\nimport \"context\"\n\n//distlock:lock value:a locker:s.locker\nfunc (s *Service) other(ctx context.Context) error { return nil }\n",
	})
	if out := must(t, dir, 1, "-check"); !strings.Contains(out, "plain_distlock.go: its comments are gone") {
		t.Errorf("-check of a file without a source: %s", out)
	}
	must(t, dir, 0)
	must(t, dir, 0, "-check")
	all := generatedIn(t, dir)
	if all[filepath.Join(dir, "elsewhere_distlock.go")] == "" || all[filepath.Join(dir, "plain_distlock.go")] != "" {
		t.Errorf("left: %v, want elsewhere_distlock.go, and none of plain.go", slices.Sorted(maps.Keys(all)))
	}
	if text := all[filepath.Join(dir, "linux_distlock.go")]; !strings.Contains(text, "\n//go:build unix || plan9\n") {
		t.Errorf("linux_distlock.go: %s", text)
	}
	if text := all[filepath.Join(dir, other+suffix)]; !strings.Contains(text, "\n//go:build !ignore && "+goarch+" && "+goos+"\n") {
		t.Errorf("other: %s", text)
	}

	// What this build cannot write, it can see to be old.
	const away = "//distlock:lock value:away\nfunc (s *Service) away(ctx context.Context) error { return nil }\n"
	write(t, filepath.Join(dir, "elsewhere.go"), elsewhere+away)
	for _, args := range [][]string{nil, {"-check"}} {
		if out := must(t, dir, 1, args...); !strings.Contains(out, "elsewhere_distlock.go: not up to date, and its source is not part of this build") {
			t.Errorf("an old file of another build: %s", out)
		}
	}
	write(t, filepath.Join(dir, "elsewhere_distlock.go"), all[filepath.Join(dir, "elsewhere_distlock.go")]+"\n// Away is Service.away under a lock: value:away\n")
	must(t, dir, 0, "-check")
}

func goenv(t *testing.T, name string) string {
	t.Helper()
	out, err := golang(t, ".", "env", name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

// TestMisspelt checks that misspelt directives are found in packages without other
// directives.
func TestMisspelt(t *testing.T) {
	for _, comment := range []string{"//distlok:lock value:a", "//dislock:lok value:a", "// distlock:lock value:a", "//Distlock:Lock value:a"} {
		dir := module(t, map[string]string{"a.go": "package fresh\n\n" + comment + "\nfunc a() {}\n"})
		if out := must(t, dir, 1); !strings.HasPrefix(out, "a.go:3:1: ") {
			t.Errorf("%s: %s", comment, out)
		}
	}
}

// TestInTheWay checks that files of other origin are not overwritten.
func TestInTheWay(t *testing.T) {
	dir := module(t, map[string]string{
		"pay.go": strings.Replace(freshPay, "package pay", "package fresh", 1), "pay_distlock.go": "package fresh\n",
	})
	if out := must(t, dir, 1); !strings.Contains(out, "pay_distlock.go: was not written by distlockgen") {
		t.Errorf("got %s", out)
	}
}

func TestVersion(t *testing.T) {
	var stdout strings.Builder
	if got := run(".", []string{"-version"}, &stdout, io.Discard); got != 0 || !strings.HasPrefix(stdout.String(), "distlockgen ") {
		t.Errorf("exit status %d, output %q", got, stdout.String())
	}
}
