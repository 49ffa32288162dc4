package zktest

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/distlock-go/distlock/internal/test/child"
)

// JarDir is the directory of the JAR files of Debian packages.
const JarDir = "/usr/share/java"

const needs = "zktest: needs Java and Debian's zookeeper package"

// ClassPath returns the path of the java command and a class path with the named JAR
// files. The error matches [child.ErrMissing] if one of them is not installed.
func ClassPath(names ...string) (java, path string, err error) {
	java, err = child.LookPath("java", needs)
	if err != nil {
		return "", "", err
	}
	for i, name := range names {
		names[i] = filepath.Join(JarDir, name+".jar")
		if _, err := os.Stat(names[i]); err != nil {
			return "", "", child.Missing(needs, err)
		}
	}
	return java, strings.Join(names, string(filepath.ListSeparator)), nil
}

// ServerPath returns the paths that start the server, as [ClassPath] does.
func ServerPath() (java, path string, err error) { return ClassPath("zookeeper", "slf4j-nop") }
