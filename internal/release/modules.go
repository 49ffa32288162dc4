package main

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"time"
)

const library = "github.com/distlock-go/distlock"

// released are the directories of the modules that programs use: of the library, of what
// cmd requires, of the generator, and of the commands. The other modules are for this repository alone.
var released = []string{".", "backend/etcdlock", "backend/sqllock", "otellock", "promlock", "internal/backendurl", "gen", "cmd"}

// tags returns the tag of each released module, that of the library last: with it the
// release is published.
func tags(version string) []string {
	var all []string
	for _, dir := range released[1:] {
		all = append(all, dir+"/"+version)
	}
	return append(all, version)
}

// requirement matches a requirement of a module of this repository.
var requirement = regexp.MustCompile(`(?m)^((?:require )?\s*` + regexp.QuoteMeta(library) + `(?:/\S+)?) v\S+`)

// require returns the text of a go.mod with the version in each requirement of a module
// of this repository.
func require(mod, version string) string {
	return requirement.ReplaceAllString(mod, "$1 "+version)
}

// prepare writes the version into each go.mod, and closes the CHANGELOG.
func prepare(version string, day time.Time) error {
	mods, err := goMods(".")
	if err != nil {
		return err
	}
	for _, name := range mods {
		if err := edit(name, func(mod string) (string, error) { return require(mod, version), nil }); err != nil {
			return err
		}
	}
	return edit(changelog, func(text string) (string, error) { return closed(text, version, day) })
}

// edit replaces the text of a file.
func edit(name string, f func(string) (string, error)) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	edited, err := f(string(text))
	if err != nil || edited == string(text) {
		return err
	}
	return os.WriteFile(name, []byte(edited), 0o644) //nolint:gosec // as git writes it
}

// goMods returns the go.mod of each module below root.
func goMods(root string) ([]string, error) {
	var names []string
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git"):
			return fs.SkipDir
		case d.Name() == "go.mod":
			names = append(names, name)
		}
		return nil
	})
	return names, err
}

// module returns the path of the module in a directory.
func module(dir string) string { return path.Join(library, dir) }
