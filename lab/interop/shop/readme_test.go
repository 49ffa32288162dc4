package main

import (
	"flag"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of the stages into README.md")

const page = "README.md"

// blocks finds the blocks of a language in the page.
func blocks(t *testing.T, language string) []string {
	t.Helper()
	var found []string
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(read(t, page), -1) {
		found = append(found, m[1])
	}
	if len(found) == 0 {
		t.Fatalf("%s has no %s in it", page, language)
	}
	return found
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Every line of code in the walk-through is in the application.
func TestPageIsTheCode(t *testing.T) {
	t.Parallel()
	for language, pattern := range map[string]string{"go": "*.go", "java": "java/src/main/java/shop/*.java"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %q, %v", pattern, files, err)
		}
		known := make(map[string]bool)
		for _, file := range files {
			for line := range strings.Lines(read(t, file)) {
				known[strings.TrimSpace(line)] = true
			}
		}
		for _, block := range blocks(t, language) {
			for line := range strings.Lines(block) {
				if !known[strings.TrimSpace(line)] {
					t.Errorf("not in %s: %s", pattern, line)
				}
			}
		}
	}
}

// checkTable compares the only text block of the page with the table.
func checkTable(t *testing.T, table string) {
	t.Helper()
	old := blocks(t, "text")[0]
	if table == old {
		return
	}
	if !*update {
		t.Errorf("%s has\n%snot\n%s-update writes it", page, old, table)
		return
	}
	text := strings.Replace(read(t, page), old, table, 1)
	if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// runCommands runs the commands of the page that are for the front or for Redis, and
// compares what they print.
func runCommands(t *testing.T, f *fleet) {
	ran := 0
	for _, block := range blocks(t, "console") {
		for _, c := range strings.Split("\n"+block, "\n$ ")[1:] {
			command, want, _ := strings.Cut(c, "\n")
			command, _, _ = strings.Cut(command, "  #")
			var got string
			switch words := strings.Fields(strings.ReplaceAll(command, "'", "")); words[0] {
			case "curl": // curl -X METHOD URL
				u, err := url.Parse("http://" + words[3])
				if err != nil {
					t.Fatal(err)
				}
				a := f.request(t, words[2], u.Path, u.Query())
				if got = a.body; a.status != http.StatusOK {
					t.Logf("%s: %d", command, a.status)
				}
			case "redis-cli":
				args := make([]any, 0, len(words))
				for _, w := range words[1:] {
					args = append(args, w)
				}
				var err error
				if got, err = f.rdb.Do(t.Context(), args...).Text(); err != nil {
					t.Fatal(command, err)
				}
			default:
				continue
			}
			ran++
			if strings.TrimSpace(got) != strings.Trim(strings.TrimSpace(want), `"`) {
				t.Errorf("%s prints\n%s\nnot\n%s", command, got, want)
			}
		}
	}
	if ran == 0 {
		t.Errorf("%s has no commands for the front", page)
	}
}
