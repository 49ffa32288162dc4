package prose

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// git returns the lines, or the parts that end with a zero byte, that git prints.
func git(t *testing.T, input string, args ...string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir, cmd.Stdin = root, strings.NewReader(input)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 || r == '\n' })
}

// TestDependabot: each directory with requirements is in the list of what is kept up to
// date.
func TestDependabot(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(root + "/.github/dependabot.yml")
	if err != nil {
		t.Fatal(err)
	}
	listed := make(map[string][]string)
	var ecosystem string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "- package-ecosystem: "); ok {
			ecosystem = name
		} else if dir, ok := strings.CutPrefix(line, "- /"); ok {
			listed[ecosystem] = append(listed[ecosystem], "/"+dir)
		}
	}
	for ecosystem, file := range map[string]string{"gomod": "go.mod", "maven": "pom.xml", "docker": "Dockerfile"} {
		var want []string
		for _, name := range git(t, "", "ls-files", "-z", file, "**/"+file) {
			want = append(want, path.Join("/", path.Dir(name)))
		}
		got := listed[ecosystem]
		slices.Sort(got)
		slices.Sort(want)
		if len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("%s: dependabot.yml has %q, the repository %q", ecosystem, got, want)
		}
	}
}

// TestGeneratedFiles: the files that .gitattributes calls generated are those that say
// so themselves.
func TestGeneratedFiles(t *testing.T) {
	t.Parallel()
	says := regexp.MustCompile(`(?m)^(//|#|<!--) Code generated .* DO NOT EDIT\.( -->)?$`)
	attributes := git(t, strings.Join(git(t, "", "ls-files", "-z"), "\x00"), "check-attr", "--stdin", "-z", "linguist-generated")
	marked := 0
	for fields := range slices.Chunk(attributes, 3) { // file, attribute, value
		name := fields[0]
		head := make([]byte, 500)
		f, err := os.Open(filepath.Join(root, name))
		if err != nil {
			if os.IsNotExist(err) { // deleted, and not committed yet
				continue
			}
			t.Fatal(err)
		}
		n, _ := f.Read(head)
		_ = f.Close()
		generated := says.Match(head[:n])
		if generated != (fields[2] == "set") {
			t.Errorf("%s: generated is %v, and the attribute is %s", name, generated, fields[2])
		}
		if generated {
			marked++
		}
	}
	if marked < 5 {
		t.Errorf("%d files are generated", marked)
	}
}
