package etcdlock_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/distlock-go/distlock/backend/etcdlock"
	"github.com/distlock-go/distlock/internal/etcdtest"
)

// shared is the server of all tests that do not stop or restart it.
var shared etcdtest.Shared

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

// newClient returns a client that is closed when the test ends.
func newClient(tb testing.TB, addrs ...string) *clientv3.Client {
	tb.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: addrs, Logger: zap.NewNop()})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Errorf("closing the client: %v", err)
		}
	})
	return c
}

// newBackend returns a Backend that is closed when the test ends. Unless opts say
// otherwise, its timeouts are so long that a slow machine costs it neither a lease nor an
// answer.
func newBackend(tb testing.TB, c *clientv3.Client, opts ...etcdlock.Option) *etcdlock.Backend {
	tb.Helper()
	slow := []etcdlock.Option{etcdlock.WithSessionTTL(5 * time.Minute), etcdlock.WithOpTimeout(20 * time.Second)}
	b, err := etcdlock.New(c, append(slow, opts...)...)
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
