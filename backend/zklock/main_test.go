package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/goleak"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/internal/zktest"
)

// shared is the server of all tests that do not stop or restart it. A JVM takes a second
// to start.
var shared = zktest.Shared{Config: zktest.Config{
	Properties: []string{"znode.container.checkIntervalMs=500", "znode.container.maxPerMinute=1000000"},
}}

func TestMain(m *testing.M) {
	code := m.Run()
	err := shared.Close()
	if leak := goleak.Find(); err == nil {
		err = leak
	}
	if code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// newBackend returns a Backend that is closed when the test ends. Unless opts say
// otherwise, its timeouts are so long that a slow machine costs it neither a lease nor an
// answer.
func newBackend(tb testing.TB, servers []string, opts ...zklock.Option) *zklock.Backend {
	tb.Helper()
	slow := []zklock.Option{zklock.WithSessionTimeout(5 * time.Minute), zklock.WithOpTimeout(20 * time.Second)}
	b, err := zklock.New(servers, append(slow, opts...)...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := b.Close(); err != nil {
			tb.Errorf("Close: %v", err)
		}
	})
	return b
}

// reconnects skips a test under the race detector if a session with watches gets a new
// connection in it. go-zookeeper 1.0.4 then reads the last transaction's ID in
// sendSetWatches while recvLoop writes it.
func reconnects(tb testing.TB) {
	tb.Helper()
	if raceDetector {
		tb.Skip("go-zookeeper has a data race when it sets its watches again")
	}
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// newAdmin returns a connection of the client library, for what an operator does.
func newAdmin(tb testing.TB, servers ...string) *zk.Conn {
	tb.Helper()
	c, _, err := zk.Connect(servers, 5*time.Minute, zk.WithLogger(quiet{}), zk.WithLogInfo(false))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	return c
}

// keepParent creates the node of a key as one that is not a container. The server may
// delete an empty container between two steps of a test.
func keepParent(tb testing.TB, c *zk.Conn, key string) {
	tb.Helper()
	for _, path := range []string{zklock.DefaultRoot, parentOf(key)} {
		if _, err := c.Create(path, nil, 0, zk.WorldACL(zk.PermAll)); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			tb.Fatal(err)
		}
	}
}

// children returns the names of the nodes below path, as the leader knows them. It returns
// none if there is no such node.
func children(tb testing.TB, c *zk.Conn, path string) []string {
	tb.Helper()
	if _, err := c.Sync("/"); err != nil {
		tb.Fatal(err)
	}
	names, _, err := c.Children(path)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		tb.Fatal(err)
	}
	return names
}

// eventually waits until f returns true.
func eventually(tb testing.TB, within time.Duration, what string, f func() bool) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !f() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			tb.Fatalf("not within %v: %s", within, what)
		}
	}
}
