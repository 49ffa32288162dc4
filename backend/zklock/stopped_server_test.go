package zklock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/internal/test/zktest"
)

// TestServerStopped: the server is stopped for longer than a session lasts. The
// holder's context is cancelled in that time, and another owner gets the key when the
// server continues.
//
// Row 9 (zklock): the holder's context is cancelled while the server is stopped, before
// another owner gets the key. Fails if a lease may be longer than the session.
func TestServerStopped(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	server := zktest.Start(t, zktest.Config{})
	addr := []string{server.Addr()}
	const session = 6 * time.Second
	b := newBackend(t, addr, zklock.WithSessionTimeout(session), zklock.WithOpTimeout(time.Second))
	other := newBackend(t, addr)
	locker := distlock.New(b, distlock.Config{})
	defer locker.Close()
	lease, err := locker.Acquire(context.Background(), "key", distlock.Opts{KeyTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	admin := newAdmin(t, server.Addr())
	next := testkit.StartWaiter(t, other, testkit.NewRequest("key"))
	testkit.Eventually(t, "it is in the queue", func() bool { return len(children(t, admin, parentOf("key"))) == 2 })

	server.Stop(t)
	time.Sleep(session + session/2)
	if err := context.Cause(lease.Context()); !errors.Is(err, driver.ErrLost) {
		t.Errorf("the holder's context was cancelled because of %v", err)
	}
	next.MustWait(t)
	server.Cont(t)
	g := next.Served(t)
	if lease.Check() == nil {
		t.Error("two owners have the key")
	}
	if g.Token <= lease.Token() {
		t.Errorf("token %d after token %d", g.Token, lease.Token())
	}
	if err := lease.Release(context.Background()); !errors.Is(err, driver.ErrLost) {
		t.Errorf("Release by the former holder: %v", err)
	}
	if got := testkit.Renewed(t, other, g); got.Status != driver.Renewed {
		t.Errorf("the next holder's lock: %v", got)
	}
	testkit.MustRelease(t, other, g)
	testkit.Eventually(t, "no node is left", func() bool { return len(children(t, admin, parentOf("key"))) == 0 })
}
