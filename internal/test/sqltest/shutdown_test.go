//go:build unix

package sqltest_test

import (
	"net"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/test/sqltest"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// TestShutdownWithSilentClient checks that a server ends although a client has connected
// while it was ending, and says nothing, because its process or network was stopped.
func TestShutdownWithSilentClient(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	s := sqltest.Postgres.Start(t)
	db := s.NewDatabase(t)
	eventually := func(what string, f func() bool) {
		t.Helper()
		for begun := time.Now(); !f(); <-time.After(10 * time.Millisecond) {
			if time.Since(begun) > time.Minute {
				t.Fatal(what)
			}
		}
	}
	sleeping := s.Client(db, "SELECT pg_sleep(1000)")
	if err := sleeping.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sleeping.Wait() }() // the server ends its session
	pid := 0
	eventually("a session", func() bool {
		pid, _ = strconv.Atoi(s.Exec(t, db, "SELECT max(pid) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%' AND pid <> pg_backend_pid()"))
		return pid != 0
	})
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil { // the server waits for it
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Shutdown(t)
	}()
	eventually("the server is ending", func() bool { return strings.Contains(s.Output(), "shutdown request") })
	silent, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	// The server accepts connections in order.
	if out, err := s.Client(db, "SELECT 1").CombinedOutput(); err == nil || !strings.Contains(string(out), "shutting down") {
		t.Errorf("a later client: %v, %s", err, out)
	}
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Error(err)
	}
	<-ended
}
