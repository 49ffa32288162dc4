package prose

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// snippet is Go code of a page.
type snippet struct {
	text string
	file *ast.File
}

func parse(t *testing.T, text string) snippet {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return snippet{text, file}
}

func (s snippet) of(n ast.Node) string { return s.text[n.Pos()-1 : n.End()-1] }

// args returns the arguments of the first call of a function.
func (s snippet) args(t *testing.T, function string) (args []string) {
	t.Helper()
	ast.Inspect(s.file, func(n ast.Node) bool {
		if call, is := n.(*ast.CallExpr); is && args == nil && s.of(call.Fun) == function {
			for _, arg := range call.Args {
				args = append(args, s.of(arg))
			}
		}
		return args == nil
	})
	if args == nil {
		t.Fatalf("no call of %s in\n%s", function, s.text)
	}
	return args
}

// TestTheSnippetsOfTheREADMEExcludeEachOther runs the wrapped function and the route of the page
// together, in two Lockers over one store. Both are about one order: while one is inside, the
// other does not get in.
func TestTheSnippetsOfTheREADMEExcludeEachOther(t *testing.T) {
	t.Parallel()
	const page = "README.md" // the Chinese page has the same code: TestChinesePages
	var program, route snippet
	for _, block := range codeBlocks.FindAllStringSubmatch(read(t, page), -1) {
		switch text := block[1]; {
		case strings.HasPrefix(text, "package main\n"):
			program = parse(t, text)
		case strings.Contains(text, "httpmw.Lock("):
			route = parse(t, "package main\nfunc _() {\n"+text+"\n}\n")
		}
	}
	if program.file == nil || route.file == nil {
		t.Fatalf("%s has no program or no route", page)
	}
	var types []string
	for _, d := range program.file.Decls {
		if d, is := d.(*ast.GenDecl); is && d.Tok == token.TYPE {
			types = append(types, program.of(d))
		}
	}
	request := program.args(t, "pay")[1]
	name, _, _ := strings.Cut(request, "{")
	wildcard := regexp.MustCompile(`"(/[^"]*)(\{\w+\})([^"]*)"`).FindStringSubmatch(route.text)
	id := regexp.MustCompile(`\d+`).FindString(request)
	if wildcard == nil || id == "" {
		t.Fatalf("%s: no path with a wildcard, or no order in %s", page, request)
	}
	main := filepath.Join(t.TempDir(), "main.go")
	err := os.WriteFile(main, fmt.Appendf(nil, together, strings.Join(types, "\n"), name, program.args(t, "distlock.Wrap")[2],
		wildcard[1]+wildcard[2]+wildcard[3], route.args(t, "httpmw.Lock")[1], route.args(t, "httpmw.Lock")[2],
		wildcard[1]+id+wildcard[3], request), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "run", main).CombinedOutput()
	ran := regexp.MustCompile(`^most inside: 1, ran: \[(\S+) (\S+)\]\n$`).FindStringSubmatch(string(out))
	if err != nil || ran == nil || ran[1] != ran[2] {
		t.Errorf("%s: %v: %s", page, err, out)
	}
}

// together is a program in which each of two calls runs while the other is inside.
const together = `package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/httpmw"
)

%s

func main() {
	var other func()
	inside, most, ran := 0, 0, []string{}
	work := func(ctx context.Context) {
		lease, _ := distlock.FromContext(ctx)
		ran = append(ran, lease.Key())
		inside++
		most = max(most, inside)
		if f := other; f != nil {
			other = nil
			f()
		}
		inside--
	}
	store := memlock.New()
	pay := distlock.Wrap(distlock.New(store, distlock.Config{}),
		func(ctx context.Context, _ %s) (string, error) { work(ctx); return "", nil }, %s)
	mux := http.NewServeMux()
	mux.Handle("POST %s", httpmw.Lock(distlock.New(store, distlock.Config{}), %s, %s)(
		http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { work(r.Context()) })))

	short := func(f func(context.Context)) func() {
		return func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second/5)
			defer cancel()
			f(ctx)
		}
	}
	served := short(func(ctx context.Context) {
		mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "POST", "%s", nil))
	})
	called := short(func(ctx context.Context) { _, _ = pay(ctx, %s) })
	other = served
	called()
	other = called
	served()
	fmt.Printf("most inside: %%d, ran: %%v\n", most, ran)
}
`
