package sqltest

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/distlock-go/distlock/internal/test/child"
)

// Replica starts an asynchronous standby of a PostgreSQL server, and kills it when the
// test ends. [Server.Promote] makes it a server of its own.
func (s *Server) Replica(tb testing.TB, args ...string) *Server {
	tb.Helper()
	r := s.engine.newServer(newDir(tb), args)
	tb.Cleanup(r.Kill)
	cmd, err := s.engine.command(r.dir, "pg_basebackup", "-D", r.data(), "-h", "127.0.0.1", "-p", strconv.Itoa(s.Ports[0]), "-U", "postgres",
		"--write-recovery-conf", "--checkpoint=fast", "--no-sync")
	if err != nil {
		tb.Fatal(err)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("pg_basebackup: %v: %s", err, out)
	}
	if err := child.Launch(r); err != nil {
		tb.Fatal(err)
	}
	return r
}

// Promote makes a standby accept writes.
func (s *Server) Promote(tb testing.TB) {
	tb.Helper()
	if got := s.Exec(tb, s.engine.first, fmt.Sprintf("SELECT pg_promote(wait_seconds => %d)", int(child.Patience.Seconds()))); got != "t" {
		tb.Fatalf("pg_promote: %q", got)
	}
}
