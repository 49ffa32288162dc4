package zklock_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// TestCredentialsNotWritten: a new connection breaks when the credentials are repeated
// on it. It is closed at once. Without our Write go-zookeeper 1.0.4 would hang.
func TestCredentialsNotWritten(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		g := testkit.MustTry(t, v, testkit.NewRequest("key"))
		var broken atomic.Bool
		v.gate.set(func(p []byte) error {
			if bytes.Contains(p, []byte("digest")) && broken.CompareAndSwap(false, true) {
				return errors.New("broken pipe")
			}
			return nil
		})
		v.network.Kill()
		synctest.Wait()
		if n := v.network.Open(); !broken.Load() || n != 0 {
			t.Errorf("the credentials were repeated: %v; %d connections are open", broken.Load(), n)
		}
		testkit.MustRenew(t, v, g)
	}, zklock.Config{User: "shop", Password: "secret"})
}

// TestNothingBeforeTheCredentials: until the server has answered to the credentials, it gets
// nothing else.
func TestNothingBeforeTheCredentials(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := new(fakeServer)
		server.On(opSetAuth, func(string) fate { return dropped })
		v := newVirtual(t, server, zklock.Config{User: "shop", Password: "secret"})
		if _, err := v.TryAcquire(t.Context(), testkit.NewRequest("key")); !errors.Is(err, driver.ErrNotSent) || len(server.Created("")) != 0 {
			t.Errorf("%v; created %q", err, server.Created(""))
		}
	})
}

// TestCallsWaitForAConnection: the servers are gone for three seconds. No call fails.
func TestCallsWaitForAConnection(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		g := testkit.MustTry(t, v, testkit.NewRequest("held"))
		for what, call := range map[string]func() error{
			"TryAcquire": func() error { _, err := v.TryAcquire(t.Context(), testkit.NewRequest("key")); return err },
			"Renew":      func() error { return testkit.Renewed(t, v, g) },
			"Extend":     func() error { _, err := v.Extend(t.Context(), g, 4); return err },
			"Inspect":    func() error { _, err := v.Inspect(t.Context(), "", 10); return err },
			"Ping":       func() error { return v.Ping(t.Context()) },
			"Release":    func() error { return v.Release(t.Context(), testkit.NewRequest("other").Grant()) },
		} {
			time.Sleep(2 * time.Second) // the library does not wait after a longer connection
			testkit.MustRenew(t, v, g)
			v.network.Refuse(true)
			v.network.Kill()
			synctest.Wait()
			time.AfterFunc(3*time.Second, func() { v.network.Refuse(false) })
			if err := call(); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
	}, zklock.Config{OpTimeout: 10 * time.Second})
}

// drowsy is a connection to a server that overlooks the creation of a node until the
// next request comes.
type drowsy struct {
	net.Conn
	overlooked *atomic.Int32
	kept       []byte
}

func (c *drowsy) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("-lock-")) && c.kept == nil {
		c.kept = bytes.Clone(p)
		c.overlooked.Add(1)
		return len(p), nil
	}
	if _, err := c.Conn.Write(append(c.kept, p...)); err != nil {
		return 0, err
	}
	c.kept = nil
	return len(p), nil
}

// TestDrowsyServer: the server finds a request only when the next one comes, as
// ZooKeeper 3.8.0 does if its CommitProcessor misses that it was woken.
func TestDrowsyServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, overlooked := new(fakeServer), new(atomic.Int32)
		dial := func(string, string, time.Duration) (net.Conn, error) {
			c, err := server.Dial()
			return &drowsy{Conn: c, overlooked: overlooked}, err
		}
		b := newBackend(t, []string{"10.0.0.1:1"}, zklock.Config{Dialer: dial, OpTimeout: 2 * time.Second})
		testkit.MustRelease(t, b, testkit.MustTry(t, b, testkit.NewRequest("drowsy")))
		if overlooked.Load() == 0 {
			t.Error("the server overlooked nothing: the test proves nothing")
		}
	})
}

// TestSilentServer: a server accepts connections and does not answer, as ZooKeeper 3.8
// may do while it starts. The Backend tries another connection soon, even if its
// session is long.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dialed := make(chan time.Time, 10)
		dial := func(string, string, time.Duration) (net.Conn, error) {
			dialed <- time.Now()
			client, server := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, server) }()
			return client, nil
		}
		newBackend(t, []string{"127.0.0.1:1"}, zklock.Config{Dialer: dial, SessionTimeout: time.Hour})
		first := <-dialed
		if d := (<-dialed).Sub(first); d > 6*time.Second {
			t.Errorf("the next connection is opened after %v", d)
		}
	})
}
