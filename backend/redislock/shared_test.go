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

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

func reader(key string) driver.Request {
	r := request(key)
	r.Mode = driver.Shared
	return r
}

func permit(key string, n int) driver.Request {
	r := request(key)
	r.Permits = n
	return r
}

func mustTry(t testing.TB, b *redislock.Backend, r driver.Request) driver.Grant {
	t.Helper()
	g, err := b.TryAcquire(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if g.Mode != r.Mode || g.Permits != r.Permits {
		t.Fatalf("granted %v, %d permits; asked for %v, %d", g.Mode, g.Permits, r.Mode, r.Permits)
	}
	return g
}

func mustRelease(t testing.TB, b *redislock.Backend, g driver.Grant) {
	t.Helper()
	if err := b.Release(t.Context(), g); err != nil {
		t.Fatal(err)
	}
}

func TestSharedAndPermits(t *testing.T) {
	eachServer(t, func(t *testing.T, s server) {
		b, peer := newBackend(t, s.Client), newBackend(t, s.Client)
		for name, r := range map[string]func() driver.Request{
			"readers": func() driver.Request { return reader("readers") },
			"permits": func() driver.Request { return permit("permits", 2) },
		} {
			g1, g2 := mustTry(t, b, r()), mustTry(t, peer, r())
			if g2.Token <= g1.LastToken {
				t.Errorf("%s: token %d after %d", name, g2.Token, g1.LastToken)
			}
			if _, err := b.TryAcquire(t.Context(), request(name)); !errors.Is(err, driver.ErrNotAcquired) {
				t.Errorf("%s: an exclusive lock beside them: %v", name, err)
			}
			if _, err := b.Extend(t.Context(), g1, 5); !errors.Is(err, driver.ErrNotAcquired) {
				t.Errorf("%s: extended: %v", name, err)
			}
			testkit.Eventually(t, "a release by another is refused", func() bool {
				err := b.Release(t.Context(), r().Grant())
				if err != nil && !errors.Is(err, driver.ErrLost) {
					t.Fatalf("%s: release by another: %v", name, err)
				}
				return err != nil // a release that was sent twice is not an error
			})
			mustRelease(t, b, g1)
			mustRelease(t, b, g2)
			mustRelease(t, b, r().Grant())
			matches(t, name+": release of what was released", b.Release(t.Context(), g1), driver.ErrLost)
			never := r().Grant()
			never.Token, never.LastToken = 1, 1
			if err := b.Release(t.Context(), never); !errors.Is(err, driver.ErrLost) {
				t.Errorf("%s: release of what is gone: %v", name, err)
			}
			if g := mustTry(t, b, request(name)); g.Token <= g2.LastToken {
				t.Errorf("%s: token %d after %d", name, g.Token, g2.LastToken)
			}
		}
		if _, err := b.TryAcquire(t.Context(), permit("none left", 1)); err != nil {
			t.Fatal(err)
		}
		var held *driver.HeldError
		if _, err := b.TryAcquire(t.Context(), permit("none left", 1)); !errors.As(err, &held) || held.RetryAfter < 5*time.Second {
			t.Errorf("a permit too many: %v", err)
		}
	})
}

func TestBadModes(t *testing.T) {
	b := newBackend(t, redistestClosedClient(t))
	for name, change := range map[string]func(*driver.Request){
		"unknown mode":     func(r *driver.Request) { r.Mode = 7 },
		"negative permits": func(r *driver.Request) { r.Permits = -1 },
		"both":             func(r *driver.Request) { r.Mode, r.Permits = driver.Shared, 2 },
	} {
		t.Run(name, func(t *testing.T) {
			r := request("k")
			change(&r)
			if _, err := b.TryAcquire(t.Context(), r); err == nil || errors.Is(err, redis.ErrClosed) || errors.Is(err, driver.ErrNotAcquired) {
				t.Errorf("acquire: %v", err)
			}
			if err := b.Release(t.Context(), r.Grant()); err == nil || errors.Is(err, redis.ErrClosed) || errors.Is(err, driver.ErrLost) {
				t.Errorf("release: %v", err)
			}
		})
	}
}

// Readers of several processes hold a key together, however many they are, and the
// waiting writer gets it from the last of them.
func TestThousandReaders(t *testing.T) {
	t.Parallel()
	s := realServer(t)
	bs := []*redislock.Backend{newBackend(t, s.Client), newBackend(t, s.Client), newBackend(t, s.Client), newBackend(t, s.Client)}
	grants := make([]driver.Grant, 1000)
	var wg sync.WaitGroup
	for i := range grants {
		wg.Go(func() {
			r := reader(lockKey)
			r.TTL = time.Minute
			g, err := bs[i%len(bs)].Acquire(t.Context(), r)
			if err != nil {
				t.Error(err)
			}
			grants[i] = g
		})
	}
	wg.Wait()
	if n := s.ZCard(t.Context(), lockKey).Val(); n != 1000 {
		t.Fatalf("%d readers have the key", n)
	}
	seen := make(map[uint64]bool)
	highest := uint64(0)
	for _, g := range grants {
		if seen[g.Token] {
			t.Errorf("token %d twice", g.Token)
		}
		seen[g.Token] = true
		highest = max(highest, g.LastToken)
	}
	for i, b := range bs {
		mine := make([]driver.Grant, 0, 250)
		for j := i; j < len(grants); j += len(bs) {
			mine = append(mine, grants[j])
		}
		renewed(t, driver.RenewAll(t.Context(), b, mine), all(driver.Renewed))
	}

	r := request(lockKey)
	r.Backoff = driver.NewBackoff(time.Hour, 0)
	w := acquire(t.Context(), bs[0], r)
	testkit.Eventually(t, "the writer waits", func() bool { return s.ZCard(t.Context(), queueKey).Val() == 1 })
	for i, g := range grants {
		wg.Go(func() {
			if err := bs[i%len(bs)].Release(t.Context(), g); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	<-w.done
	if w.err != nil || w.grant.Token <= highest {
		t.Errorf("the writer: token %d after %d, %v", w.grant.Token, highest, w.err)
	}
}

// One batch of renewals has exclusive locks, readers and permits.
func TestRenewSharedBatches(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	s := realServer(t)
	cluster := redistest.StartCluster(t, 2)
	for name, c := range map[string]redis.UniversalClient{
		"one script": s.Client, "pipeline": wrapped{s.Client}, "cluster": redistest.ClusterClient(t, cluster),
	} {
		t.Run(name, func(t *testing.T) {
			b := newBackend(t, c)
			var grants []driver.Grant
			for i := range 600 {
				r := request(fmt.Sprint(name, i/3*3))
				switch i % 3 {
				case 0:
					r.Key += "x"
				case 1:
					r.Mode = driver.Shared
				case 2:
					r.Key += "p"
					r.Permits = 2
				}
				grants = append(grants, mustTry(t, b, r))
			}
			for i, g := range grants {
				if i == 7 || i == 300 || i == 596 {
					mustRelease(t, b, g)
				}
			}
			before := s.commandCalls(t, "evalsha")
			renewed(t, driver.RenewAll(t.Context(), b, grants), func(i int) driver.RenewStatus {
				if i == 7 || i == 300 || i == 596 {
					return driver.Lost
				}
				return driver.Renewed
			})
			if n := s.commandCalls(t, "evalsha") - before; name == "one script" && n != 3 {
				t.Errorf("%d scripts for 200 exclusive locks and 400 others", n)
			}
		})
	}
}

func TestSharedCluster(t *testing.T) {
	t.Parallel()
	nodes := redistest.StartCluster(t, 3)
	b, peer := newBackend(t, redistest.ClusterClient(t, nodes)), newBackend(t, redistest.ClusterClient(t, nodes))
	for i := range 6 {
		key := fmt.Sprint("k", i)
		g := mustTry(t, b, request(key))
		r := reader(key)
		r.Backoff = driver.NewBackoff(time.Hour, 0)
		w := acquire(t.Context(), peer, r)
		testkit.Eventually(t, "it waits", func() bool { return peer.Waiters() == 1 })
		mustRelease(t, b, g)
		<-w.done
		if w.err != nil {
			t.Fatal(w.err)
		}
		mustTry(t, b, reader(key))
		mustRelease(t, peer, w.grant)
	}
}

// A dead reader keeps a writer out until its lease ends, and no longer, although a
// later reader renews its lease and leaves in time. Polling does not help.
func TestVirtualDeadReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBackend(t, redistest.VirtualClient(t, redistest.Virtual(t)))
		start := time.Now()
		dead := mustTry(t, b, reader(lockKey))
		time.Sleep(4 * time.Second)
		alive := mustTry(t, b, reader(lockKey))
		r := request(lockKey)
		r.Backoff = driver.NewBackoff(time.Hour, 0)
		w := acquire(t.Context(), b, r)
		time.Sleep(time.Second)
		renewed(t, driver.RenewAll(t.Context(), b, []driver.Grant{alive}), all(driver.Renewed))
		time.Sleep(time.Second)
		mustRelease(t, b, alive)
		<-w.done
		if d := time.Since(start); w.err != nil || d < dead.TTL || d > dead.TTL+10*time.Millisecond {
			t.Errorf("it took %v after a lease of %v: %v", d, dead.TTL, w.err)
		}
		renewed(t, driver.RenewAll(t.Context(), b, []driver.Grant{dead}), all(driver.Lost))
		if err := b.Release(t.Context(), dead); !errors.Is(err, driver.ErrLost) {
			t.Errorf("release of what has ended: %v", err)
		}
	})
}

// The permit of a dead holder is free at the end of its lease.
func TestVirtualDeadPermit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBackend(t, redistest.VirtualClient(t, redistest.Virtual(t)))
		dead := mustTry(t, b, permit(lockKey, 2))
		time.Sleep(time.Second)
		long := permit(lockKey, 2)
		long.TTL = time.Hour
		mustTry(t, b, long)
		r := permit(lockKey, 2)
		r.Backoff = driver.NewBackoff(time.Hour, 0)
		start := time.Now()
		if _, err := b.Acquire(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start) + time.Second; d < dead.TTL || d > dead.TTL+10*time.Millisecond {
			t.Errorf("it took %v after a lease of %v", d, dead.TTL)
		}
	})
}

// A lost message costs one poll, and no waiter is left behind.
func TestVirtualSharedWithoutMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := redistest.Virtual(t)
		b := newBackend(t, redistest.VirtualClient(t, m))
		deaf := newBackend(t, redistest.VirtualClient(t, m))
		if err := deaf.Close(); err != nil { // polls
			t.Fatal(err)
		}
		const poll = 200 * time.Millisecond // twice that is less than the claim window
		held := request(lockKey)
		held.TTL = time.Hour
		g := mustTry(t, b, held)
		var readers []*waiting
		for range 20 {
			r := reader(lockKey)
			r.Backoff = driver.NewBackoff(poll, 0)
			readers = append(readers, acquire(t.Context(), deaf, r))
		}
		synctest.Wait()
		w := request(lockKey)
		w.Backoff = driver.NewBackoff(poll, 0)
		writer := acquire(t.Context(), deaf, w)
		synctest.Wait()

		time.Sleep(10 * time.Millisecond)
		start := time.Now()
		mustRelease(t, b, g)
		for _, r := range readers {
			<-r.done
			if d := time.Since(start); r.err != nil || d > 2*poll {
				t.Fatalf("a reader after %v: %v", d, r.err)
			}
		}
		start = time.Now()
		for _, r := range readers {
			mustRelease(t, b, r.grant)
		}
		<-writer.done
		if d := time.Since(start); writer.err != nil || d > 2*poll {
			t.Errorf("the writer after %v: %v", d, writer.err)
		}
	})
}

// A writer gets the lock although new readers keep coming.
func TestVirtualWriterAmongReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := redistest.Virtual(t)
		b, peer := newBackend(t, redistest.VirtualClient(t, m)), newBackend(t, redistest.VirtualClient(t, m))
		const hold = 100 * time.Millisecond
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		defer wg.Wait()
		defer stop()
		patient := func(r driver.Request) driver.Request {
			r.Backoff = driver.NewBackoff(time.Hour, 0)
			return r
		}
		for i := range 10 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * hold / 10)
				for ctx.Err() == nil {
					g, err := peer.Acquire(t.Context(), patient(reader(lockKey)))
					if err != nil {
						t.Error(err)
						return
					}
					time.Sleep(hold)
					if err := peer.Release(t.Context(), g); err != nil {
						t.Error(err)
					}
				}
			})
		}
		time.Sleep(10 * hold)
		for range 20 {
			start := time.Now()
			g, err := b.Acquire(t.Context(), patient(request(lockKey)))
			if d := time.Since(start); err != nil || d > hold+10*time.Millisecond {
				t.Errorf("the writer after %v: %v", d, err)
			}
			time.Sleep(hold)
			mustRelease(t, b, g)
			time.Sleep(3 * hold)
		}
	})
}

// Readers, writers and permits never exceed their limits, and all are served.
func TestSharedExclusion(t *testing.T) {
	t.Parallel()
	for _, permits := range []int{0, 3} {
		t.Run(fmt.Sprint("permits=", permits), func(t *testing.T) {
			s := realServer(t)
			var mu sync.Mutex
			var readers, writers int
			var highest uint64
			in := func(g driver.Grant, n int) {
				mu.Lock()
				defer mu.Unlock()
				if g.Mode == driver.Shared || g.Permits > 0 {
					readers += n
				} else {
					writers += n
				}
				if writers > 1 || writers == 1 && readers > 0 || permits > 0 && readers > permits {
					t.Errorf("%d readers and %d writers at once", readers, writers)
				}
				if n > 0 && writers == 1 {
					if g.Token <= highest {
						t.Errorf("token %d of a writer after %d", g.Token, highest)
					}
				}
				highest = max(highest, g.LastToken)
			}
			var wg sync.WaitGroup
			for p := range 6 {
				b := newBackend(t, s.Client)
				wg.Go(func() {
					for i := range 100 {
						r := request(lockKey)
						switch {
						case (p+i)%4 == 0:
						case permits > 0:
							r.Permits = permits
						default:
							r.Mode = driver.Shared
						}
						g, err := b.Acquire(t.Context(), r)
						if err != nil {
							t.Error(err)
							return
						}
						in(g, 1)
						in(g, -1)
						if err := b.Release(t.Context(), g); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			if n := s.Exists(t.Context(), lockKey, queueKey).Val(); n != 0 {
				t.Errorf("left behind:\n%s", s.dump(t))
			}
		})
	}
}
