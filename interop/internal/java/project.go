package java

import (
	"errors"
	"testing"

	"github.com/distlock-go/distlock/internal/child"
	"github.com/distlock-go/distlock/internal/maven"
	"github.com/distlock-go/distlock/internal/testmode"
)

// Project is a Maven project that has been built.
type Project struct{ maven *maven.Project }

// Build returns the Maven project in dir: see [maven.Build]. The test is skipped if Java or
// Maven is missing; see [child.RealEnv].
func Build(tb testing.TB, dir string, more ...string) *Project {
	tb.Helper()
	testmode.InRealTime(tb)
	p, err := maven.Build(tb.Context(), dir, more...)
	switch {
	case errors.Is(err, maven.ErrMissing) && !child.Required():
		tb.Skipf(testmode.LeftOut+"%v", err)
	case err != nil:
		tb.Fatalf("java: %v", err)
	}
	return &Project{p}
}
