package java

import (
	"testing"

	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/maven"
)

// Project is a Maven project that has been built.
type Project struct{ maven *maven.Project }

// Build returns the Maven project in dir: see [maven.Build]. The test is skipped if Java or
// Maven is missing; see [child.Need].
func Build(tb testing.TB, dir string, more ...string) *Project {
	tb.Helper()
	p, err := maven.Build(tb.Context(), dir, more...)
	child.Need(tb, err)
	return &Project{p}
}
