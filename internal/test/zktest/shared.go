package zktest

import (
	"testing"

	"github.com/distlock-go/distlock/internal/test/child"
)

// Shared is a server for all tests of a package. TestMain has to call Close. The zero
// value is ready to use.
type Shared struct {
	// Config configures the server.
	Config Config

	child.Shared[*Server]
}

// Server returns the server, and starts it if it is the first call. Each test has to use
// keys of its own. See [Start] for what happens without ZooKeeper.
func (s *Shared) Server(tb testing.TB) *Server {
	tb.Helper()
	return s.Get(tb, func(dir string) (*Server, error) { return Launch(dir, s.Config) })
}
