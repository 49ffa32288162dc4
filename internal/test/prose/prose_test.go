// Package prose has only tests: the pages lead to what exists, and the packages, the
// modules and the tests are as the pages say.
package prose

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// root is the directory of the repository.
var root = filepath.Join("..", "..", "..")

// pages returns the text of each page of the repository, by its path.
func pages(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	err := walk(func(name string) error {
		if path.Ext(name) != ".md" && path.Base(name) != "llms.txt" {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		texts[name] = string(text)
		return err
	})
	if err != nil || len(texts) < 20 {
		t.Fatalf("%d pages, %v", len(texts), err)
	}
	return texts
}

// walk calls f with each file, except those in hidden directories, in testdata, and in
// target, where Maven and JMeter write.
func walk(f func(name string) error) error {
	return fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "target"):
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		return f(name)
	})
}
