package redislock_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// goneKey has the owners whose late attempts are refused.
const goneKey = "{" + lockKey + "}:gone"

// modes are the ways to hold a key. One holder of a mode keeps the exclusive ones out.
var modes = map[string]func(key string) driver.Request{
	"exclusive": request,
	"shared":    reader,
	"permits":   func(key string) driver.Request { return permit(key, 1) },
}

// unsteady is a Backend with a network that can break, and another Backend.
type unsteady struct {
	server
	network  *spoilnet.Network
	b, other *redislock.Backend
}

// newUnsteady starts a server that knows the scripts. The client of b repeats commands by
// itself, which is the default of go-redis.
func newUnsteady(t *testing.T) unsteady {
	t.Helper()
	s := realServer(t)
	n := spoilnet.TCP(s.real.Addr())
	u := unsteady{s, n, newBackend(t, s.real.Client(t, func(o *redis.Options) { o.Dialer = n.DialContext })), newBackend(t, s.Client)}
	u.warm(t)
	return u
}

// warm makes b use every script, so that the next calls do not send their text.
func (u unsteady) warm(t *testing.T) {
	t.Helper()
	for _, ask := range modes {
		mustRelease(t, u.b, mustTry(t, u.b, ask(lockKey)))
		mustRelease(t, u.b, must(u.b.Acquire(t.Context(), ask(lockKey))))
	}
}

// keepBack runs attempt in a goroutine. What it sends first does not arrive, and then its
// connection breaks.
func (u unsteady) keepBack(t *testing.T, attempt func()) (done <-chan struct{}) {
	t.Helper()
	u.network.HoldAt(scriptCall)
	over := make(chan struct{})
	go func() {
		defer close(over)
		attempt()
	}()
	testkit.Eventually(t, "it was sent", func() bool { return u.network.Held() == 1 })
	u.network.Break()
	return over
}

// deliver lets what was kept back arrive, and waits until the server has done it.
func (u unsteady) deliver(t *testing.T) {
	t.Helper()
	before := u.scriptCalls(t)
	noError(t, u.network.Deliver())
	testkit.Eventually(t, "it arrived", func() bool { return u.scriptCalls(t) > before })
}

// giveUp does what the contract asks of a caller after an attempt: after a refusal
// nothing, otherwise a release.
func (u unsteady) giveUp(t *testing.T, r driver.Request, err error) {
	t.Helper()
	if errors.Is(err, driver.ErrNotAcquired) {
		return
	}
	// Another has the key.
	if err := u.b.Release(t.Context(), r.Grant()); err != nil && !errors.Is(err, driver.ErrLost) {
		t.Errorf("release: %v", err)
	}
}

// acquires calls Acquire as a Locker does: again, as long as the outcome is unknown.
func (u unsteady) acquires(ctx context.Context, r driver.Request) (driver.Grant, error) {
	for {
		g, err := u.b.Acquire(ctx, r)
		if err == nil || ctx.Err() != nil || errors.Is(err, driver.ErrNotAcquired) {
			return g, err
		}
	}
}

// taken checks that the key has neither a holder nor waiters.
func (u unsteady) free(t *testing.T, keys ...string) {
	t.Helper()
	for _, key := range keys {
		if n := u.Exists(t.Context(), key, "{"+key+"}:queue").Val(); n != 0 {
			t.Fatalf("%q is taken for an owner that has left:\n%s", key, u.dump(t))
		}
		mustRelease(t, u.other, mustTry(t, u.other, request(key)))
	}
}

// An attempt is on its way when its connection breaks, and arrives when its owner has
// left and the holder has released. It does not take the key: the owner would not learn
// of it, and nobody would release it before its lease ends.
func TestLateAttemptTakesNothing(t *testing.T) {
	t.Parallel()
	for mode, ask := range modes {
		for name, run := range map[string]func(t *testing.T, u unsteady){
			"refused": func(t *testing.T, u unsteady) {
				t.Helper()
				held := mustTry(t, u.other, ask(lockKey))
				r := ask(lockKey)
				if mode == "shared" {
					mustRelease(t, u.other, held) // readers do not refuse a reader
					held = mustTry(t, u.other, request(lockKey))
				}
				var err error
				<-u.keepBack(t, func() { _, err = u.b.TryAcquire(t.Context(), r) })
				if err == nil {
					t.Fatal("it was granted while another has the key")
				}
				u.giveUp(t, r, err)
				mustRelease(t, u.other, held)
			},
			"released": func(t *testing.T, u unsteady) {
				t.Helper()
				var g driver.Grant
				var err error
				<-u.keepBack(t, func() { g, err = u.acquires(t.Context(), ask(lockKey)) })
				noError(t, err)
				mustRelease(t, u.b, g)
				mustRelease(t, u.other, mustTry(t, u.other, ask(lockKey)))
			},
			"abandoned": func(t *testing.T, u unsteady) {
				t.Helper()
				held := mustTry(t, u.other, request(lockKey))
				r := ask(lockKey)
				ctx, cancel := context.WithCancel(t.Context())
				var err error
				done := u.keepBack(t, func() { _, err = u.acquires(ctx, r) })
				testkit.Eventually(t, "it waits", func() bool { return u.ZCard(t.Context(), queueKey).Val() == 1 })
				cancel()
				<-done
				if !errors.Is(err, context.Canceled) {
					t.Errorf("a wait that was cancelled: %v", err)
				}
				if err := u.b.Release(t.Context(), r.Grant()); err != nil && !errors.Is(err, driver.ErrLost) {
					t.Errorf("release: %v", err)
				}
				mustRelease(t, u.other, held)
				mustRelease(t, u.other, mustTry(t, u.other, ask(lockKey)))
			},
		} {
			t.Run(mode+"/"+name, func(t *testing.T) {
				u := newUnsteady(t)
				run(t, u)
				u.deliver(t)
				u.free(t, lockKey)
				if left := u.PTTL(t.Context(), goneKey).Val(); left <= 0 {
					t.Errorf("the tombstone ends in %v:\n%s", left, u.dump(t))
				}
			})
		}
	}
}

// A release is applied, and its reply is lost. Before the release is sent again, others
// acquire and release the key, more of them than a server could remember, and in the end
// another has it or none. That is not a loss, whether the client, the Backend or its
// caller repeats the release.
func TestReleaseWithLostReplyIsNotALoss(t *testing.T) {
	t.Parallel()
	for client, c := range map[string]struct {
		retries int
		over    func(*redis.Client) redis.UniversalClient
	}{
		"client repeats":         {3, func(c *redis.Client) redis.UniversalClient { return c }},
		"wrapped client repeats": {3, func(c *redis.Client) redis.UniversalClient { return wrapped{c} }},
		"backend repeats":        {-1, func(c *redis.Client) redis.UniversalClient { return c }},
		"caller repeats":         {-1, func(c *redis.Client) redis.UniversalClient { return wrapped{c} }},
	} {
		for mode, ask := range modes {
			t.Run(client+"/"+mode, func(t *testing.T) {
				s := realServer(t)
				other := newBackend(t, s.Client)
				l := new(loser)
				b := newBackend(t, c.over(s.real.Client(t, func(o *redis.Options) {
					o.MaxRetries = c.retries
					o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
						c, err := new(net.Dialer).DialContext(ctx, network, addr)
						return &losing{Conn: c, loser: l}, err
					}
				})))
				for _, stays := range []bool{false, true} {
					mustRelease(t, b, mustTry(t, b, ask(lockKey))) // the server has the scripts
					g := mustTry(t, b, ask(lockKey))
					var next driver.Grant
					l.meanwhile = func() {
						for range 20 {
							mustRelease(t, other, mustTry(t, other, ask(lockKey)))
						}
						if stays {
							next = mustTry(t, other, request(lockKey))
						}
					}
					l.armed.Store(true)
					err := b.Release(t.Context(), g)
					for err != nil && !errors.Is(err, driver.ErrLost) {
						err = b.Release(t.Context(), g) // the outcome is unknown
					}
					if l.armed.Load() {
						t.Fatal("no reply was lost")
					}
					if err != nil {
						t.Errorf("release, while another has the key (%v): %v", stays, err)
					}
					if stays {
						mustRelease(t, other, next)
					}
				}
			})
		}
	}
}

// loser drops the next answer to a script on its connections, and breaks the connection. On a
// busy machine there are other reads: of the login of a new connection, and those that end
// without a byte because the deadline of an inline batch has passed. Then the server may not
// have run the script.
type loser struct {
	armed     atomic.Bool
	meanwhile func()
}

type losing struct {
	net.Conn
	loser  *loser
	asked  atomic.Bool // a script was sent while the loser was armed
	broken atomic.Bool
}

func (c *losing) Write(p []byte) (int, error) {
	if c.loser.armed.Load() && scriptCall(p) {
		c.asked.Store(true)
	}
	return c.Conn.Write(p)
}

func (c *losing) Read(p []byte) (int, error) {
	if c.broken.Load() {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := c.Conn.Read(p)
	if n > 0 && c.asked.Load() && c.loser.armed.CompareAndSwap(true, false) {
		c.broken.Store(true)
		c.loser.meanwhile()
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}
