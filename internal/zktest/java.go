package zktest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// JarDir is where Debian's packages have their archives.
const JarDir = "/usr/share/java"

// ErrMissing says what this machine lacks.
var ErrMissing = errors.New("zktest: needs Java and Debian's zookeeper package")

// ClassPath returns the path of Java, and a class path of the archives with the
// names. It wraps [ErrMissing] if there is no such thing.
func ClassPath(names ...string) (java, path string, err error) {
	java, err = exec.LookPath("java")
	if err != nil {
		return "", "", errors.Join(ErrMissing, err)
	}
	for i, name := range names {
		names[i] = filepath.Join(JarDir, name+".jar")
		if _, err := os.Stat(names[i]); err != nil {
			return "", "", errors.Join(ErrMissing, err)
		}
	}
	return java, strings.Join(names, string(filepath.ListSeparator)), nil
}
