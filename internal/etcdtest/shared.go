package etcdtest

import (
	"os"
	"sync"
	"testing"
)

// Shared is a server for all tests of a package. TestMain has to call Close. The zero
// value is ready to use.
type Shared struct {
	once   sync.Once
	dir    string
	server *Server
	err    error
}

// Server returns the server, and starts it if it is the first call. Each test has to use
// keys of its own. See [Start] for what happens without etcd.
func (s *Shared) Server(tb testing.TB) *Server {
	tb.Helper()
	s.once.Do(func() {
		//nolint:usetesting // it outlives the test that needs it first
		if s.dir, s.err = os.MkdirTemp("", "etcdtest"); s.err == nil {
			// It is not killed before the end. With this option, etcd 3.4 does not even pass
			// what it has acknowledged on to the operating system.
			s.server, s.err = Launch(s.dir, "--unsafe-no-fsync")
		}
	})
	Need(tb, s.err)
	return s.server
}

// Close kills the server and removes its data.
func (s *Shared) Close() error {
	if s.server != nil {
		s.server.Kill()
	}
	return os.RemoveAll(s.dir)
}
