package redislock_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// An abandoned acquisition arrives after the release of its owner. It must not take the
// key, nor a place in the queue.
func TestOvertakenAcquire(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	for _, closed := range []bool{false, true} {
		t.Run(fmt.Sprintf("connection closed=%v", closed), func(t *testing.T) {
			s := realServer(t)
			n := spoilnet.TCP(s.real.Addr())
			slow := s.real.Client(t, func(o *redis.Options) {
				o.Dialer = n.DialContext
				o.MaxRetries = -1
				if closed {
					o.ReadTimeout = 2 * time.Second // also for requests that are not delayed
				}
			})
			b := newBackend(t, slow)
			if _, err := b.TryAcquire(t.Context(), request("other")); err != nil { // a connection in the pool
				t.Fatal(err)
			}

			for _, queue := range []bool{false, true} {
				r := request(lockKey)
				n.HoldAt(scriptCall)
				ctx, cancel := context.WithCancel(t.Context())
				left := make(chan error)
				go func() {
					op := b.TryAcquire
					if queue {
						op = b.Acquire
					}
					_, err := op(ctx, r)
					left <- err
				}()
				testkit.Eventually(t, "it was sent", func() bool { return n.Held() == 1 })
				if closed {
					// It may have been sent again, and succeeded.
					if err := <-left; contextError(err) {
						t.Errorf("acquire: %v", err)
					}
				} else {
					cancel()
					if err := <-left; !errors.Is(err, context.Canceled) {
						t.Errorf("acquire: %v", err)
					}
				}
				cancel()
				if n := b.InDoubt(); n != 1 {
					t.Errorf("%d owners in doubt", n)
				}
				if err := b.Release(t.Context(), r.Grant()); err != nil {
					t.Errorf("release: %v", err)
				}
				if n := b.InDoubt(); n != 0 {
					t.Errorf("%d owners in doubt after the release", n)
				}

				// When it arrives, the key has another holder or none.
				before := s.commandCalls(t, "evalsha")
				if err := n.Deliver(); err != nil {
					t.Fatal(err)
				}
				testkit.Eventually(t, "it arrived", func() bool { return s.commandCalls(t, "evalsha") == before+1 })
				if n := s.Exists(t.Context(), lockKey, queueKey).Val(); n != 0 {
					t.Errorf("left behind:\n%s", s.dump(t))
				}
				g, err := b.TryAcquire(t.Context(), request(lockKey))
				if err != nil {
					t.Fatal(err)
				}
				if queue {
					if err := b.Release(t.Context(), g); err != nil {
						t.Error(err)
					}
				} else {
					s.Del(t.Context(), lockKey)
				}
			}
		})
	}
}

// The same, but the owner tries again instead of releasing: the late request is a
// repeat and changes nothing.
func TestOvertakenByItsRepeat(t *testing.T) {
	t.Parallel()
	s := realServer(t)
	n := spoilnet.TCP(s.real.Addr())
	b := newBackend(t, s.real.Client(t, func(o *redis.Options) { o.Dialer = n.DialContext }))
	if _, err := b.TryAcquire(t.Context(), request("other")); err != nil {
		t.Fatal(err)
	}
	r := request(lockKey)
	n.HoldAt(scriptCall)
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := b.TryAcquire(ctx, r)
		left <- err
	}()
	testkit.Eventually(t, "it was sent", func() bool { return n.Held() == 1 })
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	g, err := b.Acquire(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	before := s.commandCalls(t, "evalsha")
	if err := n.Deliver(); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "it arrived", func() bool { return s.commandCalls(t, "evalsha") == before+1 })
	if again, err := b.TryAcquire(t.Context(), r); err != nil || again.Token != g.Token || again.LastToken != g.LastToken {
		t.Errorf("%+v, %v instead of %+v", again, err, g)
	}
	if err := b.Release(t.Context(), g); err != nil {
		t.Error(err)
	}
	if n := b.InDoubt(); n != 0 {
		t.Errorf("%d owners in doubt", n)
	}
}

// Callers that violate the contract and never release do not fill the memory.
func TestOwnersInDoubtAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := redistest.Virtual(t)
		m.SetError("LOADING never ready")
		b := newBackend(t, redistest.VirtualClient(t, m, func(o *redis.Options) { o.MaxRetries = -1 }))
		for range 5 {
			for range 1024 {
				if _, err := b.TryAcquire(t.Context(), request("k")); err == nil {
					t.Fatal("acquired from a server that answers errors")
				}
			}
			time.Sleep(time.Hour)
		}
		if n := b.InDoubt(); n > 2048 {
			t.Errorf("%d owners in doubt", n)
		}
	})
}

// scriptCall matches a call of any script, for a network that delays one.
func scriptCall(written []byte) bool { return bytes.Contains(written, []byte("evalsha")) }

// The connection breaks when a renewal was sent, and the renewal is repeated with success. The
// first copy arrives when the owner has released, and the key is kept for MinHold.
func TestLateRenewalLeavesMinHold(t *testing.T) {
	t.Parallel()
	s := realServer(t)
	n := spoilnet.TCP(s.real.Addr())
	b := newBackend(t, s.real.Client(t, func(o *redis.Options) { o.Dialer = n.DialContext }))
	for _, r := range []driver.Request{request(lockKey), {Key: "shared", Owner: "reader", Mode: driver.Shared, TTL: testTTL}} {
		g := testkit.MustTry(t, b, r)
		renewed := func() error {
			if r := driver.RenewAll(t.Context(), b, []driver.Grant{g})[0]; r.Status != driver.Renewed {
				return fmt.Errorf("renewal: %v, %w", r.Status, r.Err)
			}
			return nil
		}
		if err := renewed(); err != nil { // a connection for renewals
			t.Fatal(err)
		}
		n.HoldAt(scriptCall)
		result := make(chan error, 1)
		go func() { result <- renewed() }()
		testkit.Eventually(t, "it was sent", func() bool { return n.Held() == 1 })
		n.Break()
		if err := <-result; err != nil {
			t.Fatal(err)
		}
		g.TTL, g.Retain = time.Hour, true
		if err := renewed(); err != nil {
			t.Fatal(err)
		}
		before := s.commandCalls(t, "evalsha")
		if err := n.Deliver(); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, "it arrived", func() bool { return s.commandCalls(t, "evalsha") == before+1 })
		if left := s.PTTL(t.Context(), g.Key).Val(); left < time.Hour/2 {
			t.Errorf("%s is kept for %v, want an hour", g.Key, left)
		}
	}
}
