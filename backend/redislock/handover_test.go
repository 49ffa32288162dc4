package redislock_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// lateMessages is a network over which messages to waiters take longer than replies.
type lateMessages struct {
	*spoilnet.Network
	delay time.Duration
	last  bool // nothing gets through after the first message
}

// client returns a client of m that uses the network.
func (l *lateMessages) client(t *testing.T, m *miniredis.Miniredis) *redis.Client {
	t.Helper()
	l.Network = spoilnet.To(m.Dial)
	return redistest.VirtualClient(t, m, func(o *redis.Options) {
		o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := l.DialContext(ctx, network, addr)
			return &lateConn{Conn: c, network: l}, err
		}
	})
}

type lateConn struct {
	net.Conn
	network *lateMessages
	read    []byte // since the last message
}

func (c *lateConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.read = append(c.read, p[:n]...)
	// It comes in pieces: the word, and the lengths and texts of channel and message.
	if _, rest, ok := bytes.Cut(c.read, []byte("message\r\n")); ok && bytes.Count(rest, []byte("\r\n")) == 4 {
		c.read = nil
		time.Sleep(c.network.delay)
		if c.network.last {
			c.network.Hang(true)
		}
	}
	return n, err
}

// passOn releases a lock some time after another process has begun to wait for it, over
// the given network. It returns the lease of the waiter when there is one.
func passOn(t *testing.T, m *miniredis.Miniredis, after time.Duration, network *lateMessages) (next *atomic.Pointer[distlock.Lease]) {
	t.Helper()
	l, _ := virtualLocker(t, m)
	waiter := distlock.New(newBackend(t, network.client(t, m)), distlock.Config{})
	t.Cleanup(func() { _ = waiter.Close() })
	held := testkit.MustAcquire(t, l, lockKey, distlock.Opts{})
	next = new(atomic.Pointer[distlock.Lease])
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	t.Cleanup(func() {
		cancel()
		<-over
		if s := next.Load(); s != nil {
			_ = s.Release(context.Background())
		}
	})
	go func() {
		defer close(over)
		if s, err := waiter.Acquire(ctx, lockKey, distlock.Opts{RetryInterval: time.Minute}); err == nil {
			next.Store(s)
		}
	}()
	synctest.Wait()
	time.Sleep(after)
	noError(t, held.Release(t.Context()))
	return next
}

// A waiter gets the lock by a message that is late, and nothing else reaches it or the
// server any more. When the server gives the lock to another, the waiter does not
// believe in its lease, whenever the message came.
func TestVirtualLateMessageIsNoLease(t *testing.T) {
	for _, after := range []time.Duration{time.Millisecond, 100 * time.Millisecond, 240 * time.Millisecond, 400 * time.Millisecond, time.Minute} {
		for _, delay := range []time.Duration{0, 50 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond} {
			testkit.InBubble(t, fmt.Sprintf("%v after %v", delay, after), func(t *testing.T) {
				m := redistest.Virtual(t)
				network := &lateMessages{delay: delay, last: true}
				next := passOn(t, m, after, network)
				other, _ := virtualLocker(t, m)
				var s *distlock.Lease
				for err := distlock.ErrNotAcquired; err != nil; time.Sleep(5 * time.Millisecond) {
					s, err = other.TryAcquire(t.Context(), lockKey, distlock.Opts{})
				}
				if n := next.Load(); n != nil && n.Check() == nil {
					t.Errorf("two leases are valid, one for %v more", time.Until(n.Until()))
				}
				noError(t, s.Release(t.Context()))
				network.Hang(false)
				network.CloseCut()
			})
		}
	}
}

// A waiter that gets the lock by a message keeps it for longer than the claim window.
func TestVirtualMessageIsClaimed(t *testing.T) {
	for _, after := range []time.Duration{time.Millisecond, 240 * time.Millisecond, time.Minute} {
		for _, delay := range []time.Duration{0, 100 * time.Millisecond} {
			testkit.InBubble(t, fmt.Sprintf("%v after %v", delay, after), func(t *testing.T) {
				m := redistest.Virtual(t)
				next := passOn(t, m, after, &lateMessages{delay: delay})
				time.Sleep(delay + 2*redislock.ClaimWindow)
				s := next.Load()
				if s == nil {
					t.Fatal("the waiter has not got the lock")
				}
				noError(t, s.Check())
				if left := m.TTL(lockKey); left < distlock.DefaultKeyTimeout/2 {
					t.Errorf("the lock ends in %v", left)
				}
				noError(t, s.Release(t.Context()))
			})
		}
	}
}

// With FreeRelease a release, or a forced one, leaves the key free although another
// owner waits: a client of another library that comes before the message takes the key.
// The waiter keeps its place, and gets the key later. Without another library it gets
// the key as soon as it is told. Without the option the server passes the key on.
func TestVirtualFreeRelease(t *testing.T) {
	const late = 50 * time.Millisecond // how long a message takes
	for name, c := range map[string]struct{ free, forced, another bool }{
		"passed on":            {false, false, true},
		"passed on by force":   {false, true, true},
		"left free":            {true, false, true},
		"left free by force":   {true, true, true},
		"left free for itself": {true, false, false},
	} {
		testkit.InBubble(t, name, func(t *testing.T) {
			m := redistest.Virtual(t)
			other := redistest.VirtualClient(t, m)
			network := &lateMessages{delay: late}
			cfg := redislock.Config{FreeRelease: c.free}
			holder, waiter := newBackend(t, other, cfg), newBackend(t, network.client(t, m), cfg)
			g := mustTry(t, holder, request(lockKey))
			every, most := time.Second, 2*time.Second
			if !c.another {
				every, most = time.Hour, 2*late
			}
			waiting := testkit.StartWaiter(t, waiter, request(lockKey), testkit.Looks{Every: every})
			synctest.Wait()

			if c.forced {
				if held, err := holder.ForceRelease(t.Context(), lockKey); !held || err != nil {
					t.Errorf("ForceRelease: %v, %v", held, err)
				}
			} else {
				mustRelease(t, holder, g)
			}
			if c.another {
				taken := must(other.SetNX(t.Context(), lockKey, "another library's", time.Minute).Result())
				if taken != c.free {
					t.Errorf("another library takes the key: %v", taken)
				}
				time.Sleep(2 * late)
				if taken {
					noError(t, other.Del(t.Context(), lockKey).Err())
				}
			}
			start := time.Now()
			<-waiting.Done
			if d := time.Since(start); waiting.Err != nil || d > most {
				t.Errorf("the waiter gets the key after %v: %v", d, waiting.Err)
			}
		})
	}
}

// Holders that listen learn from a message that their lock was taken away by force.
func TestVirtualForcedReleaseIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := redistest.Virtual(t)
		holder := testkit.NewLocker(t, newBackend(t, redistest.VirtualClient(t, m)), distlock.Config{})
		other := newBackend(t, redistest.VirtualClient(t, m))
		for _, opts := range []distlock.Opts{{}, {Mode: distlock.Shared}, {Permits: 2}} {
			lease := testkit.MustAcquire(t, holder, lockKey, opts)
			lease.Revoked()
			start := time.Now()
			if held, err := other.ForceRelease(t.Context(), lockKey); !held || err != nil {
				t.Error(held, err)
			}
			<-lease.Context().Done()
			if d := time.Since(start); d > 50*time.Millisecond || !errors.Is(lease.Check(), distlock.ErrLost) {
				t.Errorf("%+v: after %v: %v", opts, d, lease.Check())
			}
			_ = lease.Release(t.Context())
		}
	})
}
