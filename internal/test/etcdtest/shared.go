package etcdtest

import (
	"slices"
	"testing"

	"github.com/distlock-go/distlock/internal/test/child"
)

// Shared is a server for all tests of a package. TestMain has to call Close. The zero
// value is ready to use.
type Shared struct {
	child.Shared[*Server]
}

// Server returns the server, and starts it if it is the first call. Each test has to use
// keys of its own. See [Start] for what happens without etcd.
func (s *Shared) Server(tb testing.TB) *Server {
	tb.Helper()
	return s.Get(tb, func(dir string) (*Server, error) {
		// It is not killed before the end. With this option, etcd 3.4 does not even pass
		// what it has acknowledged on to the operating system.
		return Launch(dir, append(slices.Clip(quick), "--unsafe-no-fsync")...)
	})
}
