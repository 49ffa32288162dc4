package sqltest

import (
	"fmt"
	"os"
	"strconv"
	"testing"
)

// Replica starts an asynchronous standby of a PostgreSQL server, and kills it when the
// test ends. [Server.Promote] makes it a server of its own.
func (s *Server) Replica(tb testing.TB, args ...string) *Server {
	tb.Helper()
	dir, err := os.MkdirTemp("", "sqltest") //nolint:usetesting // the server's user could not enter it
	if err != nil {
		tb.Fatal(err)
	}
	r := &Server{engine: s.engine, dir: dir, args: args}
	tb.Cleanup(r.remove)
	cmd, err := s.engine.command(dir, "pg_basebackup", "-D", r.data(), "-h", "127.0.0.1", "-p", strconv.Itoa(s.port), "-U", "postgres",
		"--write-recovery-conf", "--checkpoint=fast", "--no-sync")
	if err != nil {
		tb.Fatal(err)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("pg_basebackup: %v: %s", err, out)
	}
	if err := r.listen(); err != nil {
		tb.Fatal(err)
	}
	return r
}

// Promote makes a standby accept writes.
func (s *Server) Promote(tb testing.TB) {
	tb.Helper()
	if got := s.Exec(tb, s.engine.first, fmt.Sprintf("SELECT pg_promote(wait_seconds => %d)", int(patience.Seconds()))); got != "t" {
		tb.Fatalf("pg_promote: %q", got)
	}
}
