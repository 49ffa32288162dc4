package sqltest

import (
	"sync"
	"testing"
)

// shared is the server of all tests of a test binary that do not stop or restart it.
type shared struct {
	sync.Once
	server *Server
	err    error
}

// NewDatabase makes an empty database on a server that the tests of this binary share,
// and returns its URL. TestMain has to call [StopShared] after the tests.
func (e *Engine) NewDatabase(tb testing.TB) string {
	tb.Helper()
	s := e.Shared(tb)
	return s.URL(s.NewDatabase(tb))
}

// Shared returns the server of [Engine.NewDatabase]. A test must not stop it.
func (e *Engine) Shared(tb testing.TB) *Server {
	tb.Helper()
	e.shared.Do(func() { e.shared.server, e.shared.err = e.launch(false, nil) })
	need(tb, e.shared.err)
	return e.shared.server
}

// StopShared kills the shared servers and removes their data.
func StopShared() {
	for _, e := range []*Engine{Postgres, MariaDB} {
		if e.shared.server != nil {
			e.shared.server.remove()
		}
	}
}
