package child

import (
	"os"
	"sync"

	"github.com/distlock-go/distlock/internal/test/testmode"
)

// Shared is a server that all tests of a package use. The zero value is ready to use.
type Shared[S interface{ Kill() }] struct {
	once   sync.Once
	dir    string
	server S
	err    error
}

// Get returns the server. The first call launches it in a new directory. See [Need] for what
// happens without the program.
func (s *Shared[S]) Get(tb TB, launch func(dir string) (S, error)) S {
	tb.Helper()
	testmode.InRealTime(tb)
	s.once.Do(func() {
		if s.dir, s.err = os.MkdirTemp("", "server"); s.err == nil {
			s.server, s.err = launch(s.dir)
		}
	})
	Need(tb, s.err)
	return s.server
}

// Close kills the server and removes its directory.
func (s *Shared[S]) Close() error {
	if s.dir == "" {
		return nil
	}
	if s.err == nil {
		s.server.Kill()
	}
	return os.RemoveAll(s.dir)
}
