package sqltest

import "testing"

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
	return e.shared.Get(tb, func(dir string) (*Server, error) {
		return e.Launch(dir)
	})
}

// StopShared kills the shared servers and removes their data.
func StopShared() {
	for _, e := range []*Engine{Postgres, MariaDB} {
		_ = e.shared.Close() // the system removes old files
	}
}
