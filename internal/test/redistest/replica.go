package redistest

import (
	"context"
	"strings"
	"testing"
	"time"
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
	ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
	defer cancel()
	from, c := master.Client(tb), s.Client(tb)
	defer from.Close() //nolint:errcheck // nothing is lost
	defer c.Close()    //nolint:errcheck // the same
	must(tb, from.ConfigSet(ctx, "repl-diskless-sync-delay", "0").Err())
	host, port, _ := strings.Cut(master.Addr(), ":")
	must(tb, c.Do(ctx, "REPLICAOF", host, port).Err())
	poll(ctx, tb, func() bool { return inSync(ctx, c) }, func() string { return "the replica does not connect" })
}

// Promote turns a replica of old into a master. old is not told; Promote waits until
// old has noticed that its replica is gone.
func (s *Server) Promote(tb testing.TB, old *Server) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
	defer cancel()
	c, was := s.Client(tb), old.Client(tb)
	defer c.Close()   //nolint:errcheck // nothing is lost
	defer was.Close() //nolint:errcheck // the same
	if err := c.Do(ctx, "REPLICAOF", "NO", "ONE").Err(); err != nil {
		tb.Fatal(err)
	}
	poll(ctx, tb, func() bool { return strings.Contains(was.Info(ctx, "replication").Val(), "connected_slaves:0") },
		func() string { return "the old master still has a replica" })
}
