package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/spoilnet"
	"github.com/distlock-go/distlock/internal/testkit"
	"github.com/distlock-go/distlock/internal/zktest"
)

// virtual is a Backend in a bubble, with the server and the network of its connections.
type virtual struct {
	*zklock.Backend
	server  *zktest.Virtual
	network *spoilnet.Network
	gate    atomic.Pointer[chan struct{}]
}

// inVirtualTime runs f in a bubble. The Backend knows two servers, so that the client library
// does not wait between two connections. It has had a lock before.
func inVirtualTime(t *testing.T, f func(t *testing.T, v *virtual), opts ...zklock.Option) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := newVirtual(t, new(zktest.Virtual), opts...)
		mustWork(t, v.Backend, "first")
		time.Sleep(2 * time.Second) // after a short connection the library waits before the next
		f(t, v)
	})
}

func newVirtual(t *testing.T, server *zktest.Virtual, opts ...zklock.Option) *virtual {
	t.Helper()
	v := &virtual{server: server, network: spoilnet.To(server.Dial)}
	dial := func(network, address string, timeout time.Duration) (net.Conn, error) {
		c, err := v.network.DialTimeout(network, address, timeout)
		return gatedConn{c, &v.gate}, err
	}
	opts = append([]zklock.Option{
		zklock.WithDialer(dial), zklock.WithSessionTimeout(20 * time.Second), zklock.WithOpTimeout(2 * time.Second),
	}, opts...)
	v.Backend = newBackend(t, []string{"10.0.0.1:1", "10.0.0.2:1"}, opts...)
	return v
}

// newSession ends the session. The server still shows its nodes.
func (v *virtual) newSession() {
	v.server.Expire(true)
	v.server.Kill()
	synctest.Wait()
}

// gatedConn is a connection whose writes block while there is a gate.
type gatedConn struct {
	net.Conn
	gate *atomic.Pointer[chan struct{}]
}

func (c gatedConn) Write(p []byte) (int, error) {
	if gate := c.gate.Load(); gate != nil {
		<-*gate
	}
	return c.Conn.Write(p)
}

// acrossSessions calls f so that its first request is written in the next session, although
// f has seen the session before: the client blocks at writing a request before that.
func (v *virtual) acrossSessions(f func()) {
	gate := make(chan struct{})
	v.gate.Store(&gate)
	for range 2 { // the library may give one more to the connection that ends
		go func() { _ = v.Ping(context.Background()) }()
		synctest.Wait()
	}
	done := make(chan struct{})
	go func() {
		f()
		close(done)
	}()
	synctest.Wait()
	v.newSession()
	v.gate.Store(nil)
	close(gate)
	<-done
}

// TestSessionIsOver: as soon as the server has said that the session is over, a renewal is
// lost, without a request.
func TestSessionIsOver(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		g := testkit.MustTry(t, v, testkit.NewRequest("key"))
		v.server.On(func(op int32, _ string) zktest.Fate {
			if op == zktest.OpConnect { // the server says that the session is over, and is gone
				v.network.Refuse(true)
			}
			return zktest.Serve
		})
		v.newSession()
		start := time.Now()
		if got := testkit.Renewed(t, v, g); got.Status != driver.Lost || time.Since(start) != 0 {
			t.Errorf("a renewal after the session: %+v after %v", got, time.Since(start))
		}
	})
}

// TestSessionEndsDuringRenewal: the session ends while a renewal waits for a connection.
func TestSessionEndsDuringRenewal(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		g := testkit.MustTry(t, v, testkit.NewRequest("key"))
		v.network.Refuse(true)
		v.newSession()
		v.server.On(func(op int32, _ string) zktest.Fate {
			if op == zktest.OpConnect {
				v.network.Refuse(true)
			}
			return zktest.Serve
		})
		time.AfterFunc(time.Second/2, func() { v.network.Refuse(false) })
		if got := testkit.Renewed(t, v, g); got.Status != driver.Lost {
			t.Errorf("a renewal in which the session ended: %+v", got)
		}
	})
}

// TestNoConnection: without a connection a call says so, even if its context ends first.
func TestNoConnection(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		v.network.Refuse(true)
		v.network.Kill()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := v.TryAcquire(ctx, testkit.NewRequest("key"))
		if err == nil || errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no session") {
			t.Errorf("without a connection: %v", err)
		}
	})
}

// TestNodeOfAnEarlierSession: between the start of a call and its first request the session
// has changed. The node of the earlier session, which the server still shows, is not a lock.
//
// Row 12 (zklock): the node of an earlier session is no lock, for an acquisition, a renewal or
// an extension. Fails if a node counts because its owner is the session in which it was
// created.
func TestNodeOfAnEarlierSession(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]func(t *testing.T, v *virtual, r driver.Request, g driver.Grant){
		"acquisition": func(t *testing.T, v *virtual, r driver.Request, _ driver.Grant) {
			v.acrossSessions(func() {
				g, err := v.TryAcquire(t.Context(), r)
				if err != nil {
					t.Errorf("TryAcquire: %v", err)
				} else if got := testkit.Renewed(t, v, g); got.Status != driver.Renewed {
					t.Errorf("the owner was granted a node that is not its lock: %+v", got)
				}
			})
			testkit.MustRelease(t, v, r.Grant())
			if left := v.server.Children(parentOf(r.Key)); len(left) != 0 {
				t.Errorf("left behind: %q", left)
			}
		},
		"renewal": func(t *testing.T, v *virtual, _ driver.Request, g driver.Grant) {
			v.acrossSessions(func() {
				if got := testkit.Renewed(t, v, g); got.Status == driver.Renewed {
					t.Errorf("renewed in another session: %+v", got)
				}
			})
		},
		"extension": func(t *testing.T, v *virtual, _ driver.Request, g driver.Grant) {
			v.newSession()
			if g, err := v.Extend(t.Context(), g, 1); !errors.Is(err, driver.ErrLost) {
				t.Errorf("extended in another session: %+v, %v", g, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *virtual) {
				r := testkit.NewRequest("key")
				use(t, v, r, testkit.MustTry(t, v, r))
			})
		})
	}
}

// TestCreatedInTheNextSession: the request for a node is written in the next session. The
// owner finds that node, and needs no other.
func TestCreatedInTheNextSession(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		v.acrossSessions(func() {
			if _, err := v.TryAcquire(t.Context(), testkit.NewRequest("key")); err != nil {
				t.Errorf("TryAcquire: %v", err)
			}
		})
		if all := v.server.Created(parentOf("key")); len(all) != 1 {
			t.Errorf("created %q", all)
		}
	})
}

// TestLeaderMustAnswer: a server that is cut off from the leader answers reads. A renewal
// there is in doubt, and the node of a creation in doubt is looked for where the leader is.
func TestLeaderMustAnswer(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		g := testkit.MustTry(t, v, testkit.NewRequest("key"))
		v.server.On(func(op int32, _ string) zktest.Fate {
			if op == zktest.OpSync {
				return zktest.Drop
			}
			return zktest.Serve
		})
		if got := testkit.Renewed(t, v, g); got.Status != driver.Unknown || got.Err == nil {
			t.Errorf("a renewal without the leader: %+v", got)
		}

		// The creation reaches the leader, and this server later.
		v.server.On(nil)
		mustWork(t, v.Backend, "other") // creates the key's node
		r := testkit.NewRequest("other")
		v.server.On(func(op int32, path string) zktest.Fate {
			if op == zktest.OpCreate && strings.Contains(path, r.Owner) {
				return zktest.Defer
			}
			return zktest.Serve
		})
		if _, err := v.TryAcquire(t.Context(), r); err == nil || errors.Is(err, driver.ErrNotAcquired) {
			t.Errorf("TryAcquire without an answer: %v", err)
		}
		v.network.Kill() // the call that is in flight ends
		testkit.ReleaseRepeatedly(t, v, testkit.TryRepeatedly(t, v, r))
		if all := v.server.Created(parentOf("other")); len(all) != 2 {
			t.Errorf("created %q", all)
		}
	})
}

// TestGivenUpInFlight: an owner gives up while the creation of its node is in flight. The node
// is deleted when it comes.
func TestGivenUpInFlight(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		mustWork(t, v.Backend, "key") // creates the key's node
		r := testkit.NewRequest("key")
		v.server.On(func(op int32, path string) zktest.Fate {
			if op == zktest.OpCreate && strings.Contains(path, r.Owner) {
				time.Sleep(5 * time.Second)
			}
			return zktest.Serve
		})
		if _, err := v.TryAcquire(t.Context(), r); err == nil {
			t.Error("TryAcquire without an answer succeeds")
		}
		if err := v.Release(t.Context(), r.Grant()); err == nil {
			t.Error("Release without an answer succeeds")
		}
		time.Sleep(10 * time.Second)
		if all, left := v.server.Created(parentOf("key")), v.server.Children(parentOf("key")); len(all) != 2 || len(left) != 0 {
			t.Errorf("created %q, left %q", all, left)
		}
	})
}

// TestReleaseOfAnother: the release of an owner that has no node deletes no other one.
func TestReleaseOfAnother(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		g := testkit.MustTry(t, v, testkit.NewRequest("key"))
		if err := v.Release(t.Context(), testkit.NewRequest("key").Grant()); !errors.Is(err, driver.ErrLost) {
			t.Errorf("the release of another owner: %v", err)
		}
		if got := testkit.Renewed(t, v, g); got.Status != driver.Renewed {
			t.Errorf("after the release of another owner: %+v", got)
		}
	})
}

// TestWaiterInTheNextSession: a waiter whose session ends joins the queue again at once.
func TestWaiterInTheNextSession(t *testing.T) {
	reconnects(t)
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		holder := newVirtual(t, v.server)
		testkit.MustTry(t, holder, testkit.NewRequest("key"))
		r := testkit.NewRequest("key")
		r.Backoff = driver.NewBackoff(time.Hour, 0)
		w := testkit.StartWaiter(t, v, r)
		synctest.Wait()
		v.server.Expire(false)
		start := time.Now()
		v.network.Kill()
		w.Served(t)
		if d := time.Since(start); d > time.Minute {
			t.Errorf("served %v after its session", d)
		}
	})
}

// locked is a value that the test and the goroutines of a client or a server use.
type locked[T any] struct {
	mu sync.Mutex
	v  T
}

func (l *locked[T]) set(v T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.v = v
}

func (l *locked[T]) get() T {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.v
}

// TestNamesAreLookedUpAgain: a server moves to another address and keeps its name. A name
// that is not known is not an error while another one is.
func TestNamesAreLookedUpAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		at := locked[string]{v: "10.0.0.1"}
		lookup := func(_ context.Context, host string) ([]string, error) {
			if host != "zk" || at.get() == "" {
				return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
			}
			return []string{at.get()}, nil
		}
		server := new(zktest.Virtual)
		dial := func(_, address string, _ time.Duration) (net.Conn, error) {
			if address != at.get()+":2181" {
				return nil, fmt.Errorf("nothing is at %s", address)
			}
			return server.Dial()
		}
		b := newBackend(t, []string{"later:2181", "zk:2181"}, zklock.WithLookup(lookup), zklock.WithDialer(dial),
			zklock.WithOpTimeout(10*time.Second))
		g := testkit.MustTry(t, b, testkit.NewRequest("key"))
		for _, address := range []string{"10.0.0.2", "10.0.0.3"} {
			at.set(address)
			server.Kill()
			synctest.Wait()
			if got := testkit.Renewed(t, b, g); got.Status != driver.Renewed {
				t.Errorf("at %s: %+v", address, got)
			}
		}
		at.set("")
		server.Kill()
		synctest.Wait()
		if _, err := b.TryAcquire(t.Context(), testkit.NewRequest("key")); err == nil || !strings.Contains(err.Error(), "nothing is at") {
			t.Errorf("without a known name: %v", err)
		}
	})
}

// TestCredentialsAreReadAgain: each connection has the credentials of its time. If there are
// none, or the server refuses them, the error says why.
func TestCredentialsAreReadAgain(t *testing.T) {
	var password locked[string]
	var broken locked[error]
	option := zklock.WithDigestFunc(func() (string, string, error) { return "shop", password.get(), broken.get() })
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		var got locked[string]
		v.server.On(func(op int32, credentials string) zktest.Fate {
			if op == zktest.OpSetAuth {
				got.set(credentials)
			}
			return zktest.Serve
		})
		for _, p := range []string{"2", "longer than before", ""} {
			password.set(p)
			v.network.Kill()
			mustWork(t, v.Backend, "key")
			if got.get() != "shop:"+p {
				t.Errorf("credentials %q, and the password is %q", got.get(), p)
			}
		}
		mustSay := func(want string) {
			t.Helper()
			v.network.Kill()
			synctest.Wait()
			if err := v.Ping(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		}
		broken.set(errors.New("vault is sealed"))
		mustSay("credentials: vault is sealed")
		broken.set(nil)
		for _, c := range []struct {
			op   int32
			fate zktest.Fate
			want string
		}{
			{zktest.OpSetAuth, zktest.Refuse, "the server refuses the digest scheme"},
			{zktest.OpConnect, zktest.HangUp, "read-only"},
		} {
			v.server.On(func(op int32, _ string) zktest.Fate {
				if op == c.op {
					return c.fate
				}
				return zktest.Serve
			})
			mustSay(c.want)
		}
	}, option)
}

// TestTrialIsMadeOnce: the first Ping creates a node and deletes it, and later calls do not.
func TestTrialIsMadeOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := newVirtual(t, new(zktest.Virtual))
		for range 2 {
			if err := v.Ping(t.Context()); err != nil {
				t.Fatal(err)
			}
			mustWork(t, v.Backend, "key")
		}
		if all, left := v.server.Created(parentOf("")), v.server.Children(parentOf("")); len(all) != 1 || len(left) != 0 {
			t.Errorf("created %q, left %q", all, left)
		}
	})
}
