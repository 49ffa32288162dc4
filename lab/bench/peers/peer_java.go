package main

import (
	"context"
	"embed"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"

	"github.com/distlock-go/distlock/internal/test/maven"
)

// The names of the peers in Java.
const (
	redisson = "redisson"
	curator  = "curator"
)

// javaPeers are Redisson's RLock and Curator's InterProcessMutex. Their processes are JVMs
// that speak the language of child.go. They keep running from turn to turn: a JVM
// interprets its code at first, and is several times as fast when it has compiled it.
var javaPeers = []string{redisson, curator}

func isJava(peer string) bool { return slices.Contains(javaPeers, peer) }

//go:embed java/pom.xml java/src
var javaSources embed.FS

// javaProject is the worker in Java, built when it is first needed.
var javaProject = sync.OnceValues(buildJava)

// buildJava builds the worker in the user's cache directory, so that a later run finds it.
func buildJava() (*maven.Project, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(cache, "distlock-peers")
	if err := writeAll(javaSources, dir); err != nil {
		return nil, err
	}
	return maven.Build(context.Background(), filepath.Join(dir, "java"))
}

// writeAll writes the files to dir. A file that has its content already stays as it is.
func writeAll(files fs.FS, dir string) error {
	return fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		to := filepath.Join(dir, path)
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return os.MkdirAll(to, 0o750)
		}
		content, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		if old, err := os.ReadFile(to); err == nil && slices.Equal(old, content) {
			return nil
		}
		return os.WriteFile(to, content, 0o600)
	})
}

// javaCommand returns the command of a process of a peer in Java.
func javaCommand() (*exec.Cmd, error) {
	p, err := javaProject()
	if err != nil {
		return nil, err
	}
	return exec.Command(p.Java, "-Xmx512m", "-cp", p.ClassPath, "peers.Worker"), nil //nolint:gosec // our own program
}
