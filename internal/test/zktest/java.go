package zktest

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/distlock-go/distlock/internal/test/child"
)

// ServerPath returns the path of the java command and the class path of the server, as
// Debian's packages have them. The error matches [child.ErrMissing] if one is not
// installed.
func ServerPath() (java, classPath string, err error) {
	const needs = "zktest: needs Java and Debian's zookeeper package"
	java, err = child.LookPath("java", needs)
	if err != nil {
		return "", "", err
	}
	jars := []string{"/usr/share/java/zookeeper.jar", "/usr/share/java/slf4j-nop.jar"}
	for _, jar := range jars {
		if _, err := os.Stat(jar); err != nil {
			return "", "", child.Missing(needs, err)
		}
	}
	return java, strings.Join(jars, string(filepath.ListSeparator)), nil
}
