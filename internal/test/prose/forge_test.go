package prose

import (
	"os"
	"os/exec"
	"path"
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
