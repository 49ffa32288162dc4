package zktest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// JarDir is the directory of the JAR files of Debian packages.
const JarDir = "/usr/share/java"

// ErrMissing means that Java or ZooKeeper is not installed.
var ErrMissing = errors.New("zktest: needs Java and Debian's zookeeper package")

// ClassPath returns the path of the java command and a class path with the named JAR
// files. The error wraps [ErrMissing] if one of them is not installed.
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
