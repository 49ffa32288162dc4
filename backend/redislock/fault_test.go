package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/redistest"
	"github.com/distlock-go/distlock/internal/spoilnet"
	"github.com/distlock-go/distlock/internal/testmode"
)

func contextError(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// With a client that never replies and ignores contexts, every operation returns when its
// timeout has passed, at the latest, or when its context ends. While a server is silent, a
// later operation ends with the one before it.
func TestVirtualHungClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := redislock.New(redistest.HungClient(t), redislock.WithOpTimeout(3*time.Second))
		r := request("k")
		g := r.Grant()

		for name, op := range map[string]func(context.Context) error{
			"TryAcquire": func(ctx context.Context) error { _, err := b.TryAcquire(ctx, r); return err },
			"Acquire":    func(ctx context.Context) error { _, err := b.Acquire(ctx, r); return err },
			"Release":    func(ctx context.Context) error { return b.Release(ctx, g) },
			"Renew": func(ctx context.Context) error {
				got := driver.RenewAll(ctx, b, []driver.Grant{g})
				if got[0].Status != driver.Unknown {
					t.Errorf("renewal: %v", got)
				}
				return got[0].Err
			},
		} {
			start := time.Now()
			err := op(t.Context())
			if d := time.Since(start); d == 0 || d > 3*time.Second || err == nil || contextError(err) {
				t.Errorf("%s with a context that goes on: %v after %v", name, err, d)
			}

			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			start = time.Now()
			err = op(ctx)
			if d := time.Since(start); d != time.Second || err != context.DeadlineExceeded { //nolint:errorlint // the same value
				t.Errorf("%s with a deadline: %v after %v", name, err, d)
			}
			cancel()

			ctx, cancel = context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			start = time.Now()
			err = op(ctx)
			if d := time.Since(start); d != time.Second || err != context.Canceled { //nolint:errorlint // the same value
				t.Errorf("%s with a context that is cancelled: %v after %v", name, err, d)
			}
		}
		start := time.Now()
		if err := b.Close(); err != nil || time.Since(start) > 3*time.Second {
			t.Errorf("Close: %v after %v", err, time.Since(start))
		}
	})
}

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
				eventually(t, "it was sent", func() bool { return n.Held() == 1 })
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
				eventually(t, "it arrived", func() bool { return s.commandCalls(t, "evalsha") == before+1 })
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
	eventually(t, "it was sent", func() bool { return n.Held() == 1 })
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
	eventually(t, "it arrived", func() bool { return s.commandCalls(t, "evalsha") == before+1 })
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

// A server is stopped and continues: all calls return in time, and nothing is left
// after an answered release, whatever the server still had to read.
func TestStoppedServer(t *testing.T) {
	t.Parallel()
	s := realServer(t)
	const limit = 50 * time.Millisecond
	c := s.real.Client(t, func(o *redis.Options) { o.ReadTimeout = 100 * time.Millisecond })
	b := newBackend(t, c, redislock.WithOpTimeout(limit))
	patient := newBackend(t, c) // its operations end only with their context
	prompt := func(what string, f func()) {
		t.Helper()
		start := time.Now()
		f()
		if d := time.Since(start); d > limit+5*time.Second {
			t.Errorf("%s took %v", what, d)
		}
	}
	for round := range 10 {
		s.real.Stop()
		var wg sync.WaitGroup
		claims := make(chan driver.Grant, 8)
		for i := range cap(claims) {
			wg.Go(func() {
				r := request(lockKey)
				claims <- r.Grant()
				op := b.TryAcquire
				if i%2 == 1 {
					op = b.Acquire
				}
				prompt("acquire", func() {
					if _, err := op(t.Context(), r); err == nil || contextError(err) || errors.Is(err, driver.ErrNotAcquired) {
						t.Errorf("acquire: %v", err)
					}
				})
			})
		}
		wg.Wait()
		close(claims)
		prompt("renew", func() {
			if got := driver.RenewAll(t.Context(), b, []driver.Grant{request("k").Grant()}); got[0].Status != driver.Unknown {
				t.Errorf("renew: %v", got)
			}
		})
		cancelled, cancel := context.WithCancel(t.Context())
		time.AfterFunc(limit/5, cancel)
		prompt("release", func() {
			if err := patient.Release(cancelled, request("k").Grant()); !errors.Is(err, context.Canceled) {
				t.Errorf("release: %v", err)
			}
		})

		s.real.Cont()
		for claim := range claims {
			eventually(t, "a release is answered", func() bool {
				err := b.Release(t.Context(), claim)
				return err == nil || errors.Is(err, driver.ErrLost)
			})
		}
		if n := s.Exists(t.Context(), lockKey, queueKey).Val(); n != 0 {
			t.Fatalf("round %d left\n%s", round, s.dump(t))
		}
	}
	if n := b.InDoubt(); n != 0 {
		t.Errorf("%d owners in doubt", n)
	}
	// There are no other callers now.
	g, err := b.TryAcquire(t.Context(), request(lockKey))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Release(t.Context(), g); err != nil {
		t.Error(err)
	}
}

// A server restarts empty: the holder learns of it, tokens rise, and the waiter is
// served.
//
// Row 4 (redislock): the holder learns of it at its next renewal, the next token is
// higher, the waiter is served. Fails if tokens start at 1 without the counter, or if a
// renewal creates a lock that is gone.
func TestRow04RestartedEmpty(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	s := realServer(t)
	b := newBackend(t, s.Client)
	g, err := b.TryAcquire(t.Context(), request(lockKey))
	if err != nil {
		t.Fatal(err)
	}
	locker := distlock.New(redislock.New(s.Client), distlock.Config{})
	defer locker.Close()
	lease := must(locker.Acquire(t.Context(), "another", distlock.Opts{KeyTimeout: 20 * time.Second}))
	r := request(lockKey)
	r.Backoff = driver.NewBackoff(20*time.Millisecond, 0)
	w := acquire(t.Context(), b, r)
	eventually(t, "it has queued", func() bool { return s.ZCard(t.Context(), queueKey).Val() == 1 })
	s.real.Kill()
	eventually(t, "the failure is told", func() bool {
		select {
		case <-w.done:
			return true
		default:
			return false
		}
	})
	if w.err == nil || contextError(w.err) || errors.Is(w.err, driver.ErrNotAcquired) {
		t.Errorf("acquire: %v", w.err)
	}
	s.real.Restart()

	w = acquire(t.Context(), b, r)
	<-w.done
	if w.err != nil || w.grant.Token <= g.LastToken {
		t.Errorf("%+v, %v after token %d", w.grant, w.err, g.LastToken)
	}
	if got := driver.RenewAll(t.Context(), b, []driver.Grant{g}); got[0].Status != driver.Lost {
		t.Errorf("renewal of what was lost: %v", got)
	}
	if err := b.Release(t.Context(), g); !errors.Is(err, driver.ErrLost) {
		t.Errorf("release of what was lost: %v", err)
	}
	if err := b.Release(t.Context(), w.grant); err != nil {
		t.Error(err)
	}
	<-lease.Context().Done()
	matches(t, "the holder", lease.Check(), driver.ErrLost)
	says(t, "the holder", lease.Check(), "the store says") // it has not just expired
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

// A server is responsive and then hangs: a single caller without others may exceed its
// context a little, and later callers may not.
func TestVirtualHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := redistest.Virtual(t)
		n := spoilnet.To(m.Dial)
		c := redistest.VirtualClient(t, m, func(o *redis.Options) { o.Dialer = n.DialContext; o.ReadTimeout = -1; o.WriteTimeout = -1 })
		b := newBackend(t, c, redislock.WithOpTimeout(redislock.DefaultOpTimeout))
		for range 3 {
			g, err := b.Acquire(t.Context(), request(lockKey))
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Release(t.Context(), g); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		n.Hang(true)
		const slack = 50 * time.Millisecond
		for i := range 3 {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(20*time.Millisecond, cancel)
			start := time.Now()
			_, err := b.Acquire(ctx, request(lockKey))
			if d := time.Since(start); err != context.Canceled || d > slack || i > 0 && d != 20*time.Millisecond { //nolint:errorlint // the same value
				t.Errorf("call %d: %v after %v", i, err, d)
			}
		}
		start := time.Now()
		_, err := b.TryAcquire(t.Context(), request(lockKey))
		if d := time.Since(start); d > redislock.DefaultOpTimeout || err == nil || contextError(err) {
			t.Errorf("%v after %v", err, d)
		}

		// It works again, with new connections.
		n.Hang(false)
		r := request(lockKey)
		g, err := b.TryAcquire(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Release(t.Context(), g); err != nil {
			t.Error(err)
		}
		n.CloseCut() // those requests had no timeout
	})
}
