package redistest

import (
	"context"
	"strings"
	"testing"

	"github.com/distlock-go/distlock/internal/test/child"
)

// StartReplica starts a replica of the master, waits until it has the master's
// data, and kills it when the test ends.
func StartReplica(tb testing.TB, master *Server) *Server {
	tb.Helper()
	s := Start(tb)
	s.Follow(tb, master)
	return s
}

// Follow turns the server into a replica of the master, and waits until it has the
// master's data.
func (s *Server) Follow(tb testing.TB, master *Server) {
	tb.Helper()
	must(tb, master.admin().ConfigSet(tb.Context(), "repl-diskless-sync-delay", "0").Err())
	host, port, _ := strings.Cut(master.Addr(), ":")
	must(tb, s.admin().Do(tb.Context(), "REPLICAOF", host, port).Err())
	s.awaitSync(tb)
}

// awaitSync waits until the server is a replica that has all data of its master.
func (s *Server) awaitSync(tb testing.TB) {
	tb.Helper()
	child.Await(tb, "the replica has all data", func() bool { return s.replicates(tb.Context(), "master_link_status:up") })
}

// replicates reports whether the server says text about its replication.
func (s *Server) replicates(ctx context.Context, text string) bool {
	return strings.Contains(s.admin().Info(ctx, "replication").Val(), text)
}

// Promote turns a replica of old into a master. old is not told; Promote waits until
// old has noticed that its replica is gone.
func (s *Server) Promote(tb testing.TB, old *Server) {
	tb.Helper()
	must(tb, s.admin().Do(tb.Context(), "REPLICAOF", "NO", "ONE").Err())
	child.Await(tb, "the old master has no replica", func() bool { return old.replicates(tb.Context(), "connected_slaves:0") })
}

// IsMaster reports whether the server says that it is a master.
func (s *Server) IsMaster(tb testing.TB) bool {
	tb.Helper()
	return s.replicates(tb.Context(), "role:master")
}

// CutOff stops the server's writes from reaching its replica until the replica process
// is continued. If the server is killed meanwhile, the replica misses those writes.
func (s *Server) CutOff(tb testing.TB, replica *Server) {
	tb.Helper()
	replica.Stop()
	// Kill the connection first, so that data in the network does not arrive.
	must(tb, s.admin().Do(tb.Context(), "client", "kill", "type", "replica").Err())
}

// Replicated waits until the server's only replica has acknowledged all writes.
func (s *Server) Replicated(tb testing.TB) {
	tb.Helper()
	written := s.Stat(tb, "master_repl_offset")
	child.Await(tb, "the replica has all writes", func() bool { return written > 0 && s.number(tb, ",offset=") >= written })
}
