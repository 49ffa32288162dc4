package etcdlock_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/etcdlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// TestBudgets: a lease, and the age of the keep-alive that it begins with, leave a tenth of the
// session for clocks.
func TestBudgets(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, _ *fake, b *etcdlock.Backend, _ *spoiler) {
		lease, age := etcdlock.Budgets(20 * time.Second)
		if lease > 10*time.Second || lease+age > 18*time.Second {
			t.Errorf("of a session of 20s, a lease has %v, and a keep-alive may be %v old", lease, age)
		}
		r := testkit.NewRequest("k")
		r.TTL = time.Minute
		g := testkit.MustTry(t, b, r)
		more, err := b.Extend(t.Context(), driver.Grant{Key: g.Key, Owner: g.Owner, TTL: time.Minute}, 4)
		if g.TTL > lease || err != nil || more.TTL > lease {
			t.Errorf("granted for %v, extended for %v, %v", g.TTL, more.TTL, err)
		}
		testkit.MustRelease(t, b, more)
	})
}

// TestExtendBeforeTheNextPlace: the place of another owner was created right after the holder's.
func TestExtendBeforeTheNextPlace(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *fake, b *etcdlock.Backend, _ *spoiler) {
		mustWork(t, b, "session")
		g := testkit.MustTry(t, b, testkit.NewRequest("k"))
		w := testkit.StartWaiter(t, b, testkit.NewRequest("k"))
		testkit.Eventually(t, "the waiter has a place", func() bool { return len(f.places("k")) == 2 })
		if _, err := b.Extend(t.Context(), g, 4); !errors.Is(err, driver.ErrNotAcquired) {
			t.Errorf("Extend before a waiter: %v", err)
		}
		testkit.MustRelease(t, b, g)
		testkit.MustRelease(t, b, w.Served(t))
	})
}

// TestReleaseBeforeTheWatch: the holder releases the key after a waiter has read the queue, and
// before its watch begins. The waiter does not wait until it looks again.
func TestReleaseBeforeTheWatch(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *fake, b *etcdlock.Backend, _ *spoiler) {
		g := testkit.MustTry(t, b, testkit.NewRequest("k"))
		f.mu.Lock()
		f.watched = sync.OnceFunc(func() { testkit.MustRelease(t, b, g) })
		f.mu.Unlock()
		start := time.Now()
		next, err := testkit.Await(t.Context(), b, testkit.NewRequest("k"), testkit.Looks{})
		if d := time.Since(start); err != nil || d > time.Second {
			t.Fatalf("Acquire: %v after %v", err, d)
		}
		testkit.MustRelease(t, b, next)
	})
}

// TestKeptKey: a key that is kept stays so when its process has ended, whatever arrives late, and
// is free a second after the time at most.
func TestKeptKey(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *fake, b *etcdlock.Backend, _ *spoiler) {
		other, _ := newVirtual(t, f)
		g := testkit.MustTry(t, b, testkit.NewRequest("k"))
		start := time.Now()
		g.TTL, g.Retain = 25*time.Second+time.Millisecond, true
		testkit.MustRenew(t, b, g)
		_, _ = b.Extend(t.Context(), g, 4)
		_ = b.Close()
		next, err := testkit.Await(t.Context(), other, testkit.NewRequest("k"), testkit.Looks{})
		if d := time.Since(start); err != nil || d < g.TTL || d > g.TTL+time.Second {
			t.Fatalf("Acquire of a key that is kept for %v: %v after %v", g.TTL, err, d)
		}
		testkit.MustRelease(t, other, next)
	})
}

// TestKeepAliveOfAnotherStream: a keep-alive is lost or answered late, and another stream has an
// answer before. The next lock does not wait, and needs no third one: the older does not count.
func TestKeepAliveOfAnotherStream(t *testing.T) {
	for name, c := range map[string]struct{ delay, lock time.Duration }{
		"lost": {lost, 8500 * time.Millisecond}, // two fifths of the session are over
		"late": {4 * time.Second, 16 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, f *fake, b *etcdlock.Backend, _ *spoiler) {
				mustWork(t, b, "session")
				var n atomic.Int32
				f.slow(func(keepAlive bool) time.Duration {
					if keepAlive && n.Add(1) == 1 {
						return c.delay
					}
					return 0
				})
				time.Sleep(c.lock)
				start := time.Now()
				mustWork(t, b, "k")
				if d := time.Since(start); n.Load() != 2 || d > time.Second {
					t.Errorf("%d keep-alives; the lock took %v", n.Load(), d)
				}
			})
		})
	}
}

// TestShortLease: a lease that is shorter than the session allows is told once.
func TestShortLease(t *testing.T) {
	var out bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))
	defer slog.SetDefault(before)
	synctest.Test(t, func(t *testing.T) {
		b, _ := newVirtual(t, startFake(t))
		for _, c := range []struct {
			ttl  time.Duration
			want int
		}{{10 * time.Second, 0}, {3 * time.Second, 1}, {3 * time.Second, 1}} {
			r := testkit.NewRequest("k")
			r.TTL = c.ttl
			testkit.MustRelease(t, b, testkit.MustTry(t, b, r))
			if n := strings.Count(out.String(), "session=20s"); n != c.want {
				t.Errorf("after a lease of %v, %d lines: %s", c.ttl, n, &out)
			}
		}
	})
}

// TestLateFirstRequest: the first request for a place arrives after the second was answered and
// the owner has released the key. It creates nothing.
func TestLateFirstRequest(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *fake, b *etcdlock.Backend, s *spoiler) {
		mustWork(t, b, "session")
		s.spoilNext("Txn", true)
		s.left = 1
		testkit.MustRelease(t, b, testkit.MustTry(t, b, testkit.NewRequest("k")))
		etcdlock.WaitForSweeper(t, b)
		s.send(t)
		if left := f.places("k"); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
	})
}

// TestSilentAtFirst: one of the requests for the first lock of a process has no answer: that for
// the lease of etcd, the fence, or the place.
func TestSilentAtFirst(t *testing.T) {
	for _, silent := range []string{"LeaseGrant", "Put", "Txn"} {
		t.Run(silent, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, _ *fake, b *etcdlock.Backend, s *spoiler) {
				var times atomic.Int64
				s.each(func(_ int, method string) bool { return method == silent && times.Add(1) == 1 })
				mustWork(t, b, "k")
				if n := times.Load(); n < 2 {
					t.Errorf("%d requests", n)
				}
			})
		})
	}
}

// TestConnectionDies: nothing arrives on the connections any more, and nothing closes them. The
// first attempt succeeds within the time of one operation, and a lease of three seconds is kept.
func TestConnectionDies(t *testing.T) {
	for name, alone := range map[string]time.Duration{"attempt": 0, "renewals alone": 10 * time.Second} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, f *fake, _ *etcdlock.Backend, s *spoiler) {
				b := newBackend(t, f.client(t, s), etcdlock.Config{SessionTTL: 20 * time.Second, OpTimeout: 2 * time.Second})
				locker := testkit.NewLocker(t, b, distlock.Config{})
				lease := testkit.MustAcquire(t, locker, "held", distlock.Opts{KeyTimeout: 3 * time.Second})
				f.network.Cut()
				time.Sleep(alone)
				start := time.Now()
				testkit.MustRelease(t, b, testkit.MustTry(t, b, testkit.NewRequest("k")))
				if d := time.Since(start); d > 2*time.Second {
					t.Errorf("the first attempt took %v", d)
				}
				time.Sleep(30 * time.Second) // and the keep-alives go on
				if err := lease.Check(); err != nil {
					t.Errorf("the lease: %v", err)
				}
				if err := lease.Release(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestAddressLeadsToAnotherMember: the member that a process is connected to has lost the others,
// and the address leads to one that has not. The process gets there within two operations, and
// loses no lock.
func TestAddressLeadsToAnotherMember(t *testing.T) {
	for name, refuse := range map[string]func(ctx context.Context) error{
		"silent":    func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		"no leader": func(context.Context) error { return rpctypes.ErrGRPCNoLeader },
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, f *fake, _ *etcdlock.Backend, s *spoiler) {
				b := newBackend(t, f.client(t, s), etcdlock.Config{SessionTTL: 20 * time.Second, OpTimeout: 2 * time.Second})
				locker := testkit.NewLocker(t, b, distlock.Config{})
				lease := testkit.MustAcquire(t, locker, "held", distlock.Opts{KeyTimeout: 10 * time.Second})
				f.move(t, refuse)
				start := time.Now()
				testkit.ReleaseRepeatedly(t, b, testkit.TryRepeatedly(t, b, testkit.NewRequest("k")))
				if d := time.Since(start); d > 4*time.Second {
					t.Errorf("a lock took %v", d)
				}
				time.Sleep(30 * time.Second)
				if err := lease.Check(); err != nil {
					t.Errorf("the lease: %v", err)
				}
				if err := lease.Release(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestKeepAlivesOnADeadConnection: the connection of a session that nobody uses dies. The next
// lock has a session that was kept alive.
func TestKeepAlivesOnADeadConnection(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *fake, b *etcdlock.Backend, _ *spoiler) {
		mustWork(t, b, "session")
		before, _ := f.lastLease()
		f.network.Cut()
		time.Sleep(time.Minute)
		start := time.Now()
		mustWork(t, b, "k")
		if after, _ := f.lastLease(); after != before || time.Since(start) > time.Second {
			t.Errorf("lease %x, then %x; the lock took %v", before, after, time.Since(start))
		}
	})
}

// TestNothingSent: without a lease of etcd nothing is sent for a key, and no slot is left. After
// an attempt in doubt another one is not certain.
func TestNothingSent(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *fake, b *etcdlock.Backend, s *spoiler) {
		mustWork(t, b, "session")
		doubt := testkit.NewRequest("first")
		for name, try := range attempts {
			s.each(func(int, string) bool { return true })
			if _, err := try(b, doubt); err == nil || errors.Is(err, driver.ErrNotSent) {
				t.Errorf("%s in doubt: %v", name, err)
			}
			lease, _ := f.lastLease()
			f.revoke(lease)
			time.Sleep(25 * time.Second) // the session is known to have ended
			if _, err := try(b, testkit.NewRequest("key")); !errors.Is(err, driver.ErrNotSent) {
				t.Errorf("%s without a session: %v", name, err)
			}
			if n := etcdlock.Slots(b); n != 1 {
				t.Errorf("%d keys have slots, want the one in doubt", n)
			}
		}
	})
}

// TestSilentServers: the requests of one call reach a server that does not answer. The call
// succeeds within the time of one operation, by the second request of each kind.
func TestSilentServers(t *testing.T) {
	for name, call := range map[string]func(t *testing.T, b *etcdlock.Backend, g driver.Grant){
		"TryAcquire of a free key": func(t *testing.T, b *etcdlock.Backend, _ driver.Grant) { mustWork(t, b, "other") },
		"TryAcquire of a held key": func(t *testing.T, b *etcdlock.Backend, g driver.Grant) { testkit.MustBeBusy(t, b, g.Key) },
		"Renew":                    func(t *testing.T, b *etcdlock.Backend, g driver.Grant) { testkit.MustRenew(t, b, g) },
		"Retain": func(t *testing.T, b *etcdlock.Backend, g driver.Grant) {
			g.Retain = true
			testkit.MustRenew(t, b, g)
		},
		"Release": func(t *testing.T, b *etcdlock.Backend, g driver.Grant) {
			testkit.MustRelease(t, b, g)
			etcdlock.WaitForSweeper(t, b)
			testkit.MustRelease(t, b, testkit.MustTry(t, b, testkit.NewRequest(g.Key)))
		},
		"Extend": func(t *testing.T, b *etcdlock.Backend, g driver.Grant) {
			if _, err := b.Extend(t.Context(), g, 4); err != nil {
				t.Error(err)
			}
		},
		"Inspect": func(t *testing.T, b *etcdlock.Backend, g driver.Grant) {
			if infos, err := b.Inspect(t.Context(), g.Key, 1); err != nil || len(infos) != 1 {
				t.Errorf("Inspect: %+v, %v", infos, err)
			}
		},
		"ForceRelease": func(t *testing.T, b *etcdlock.Backend, g driver.Grant) {
			if held, err := b.ForceRelease(t.Context(), g.Key); err != nil || !held {
				t.Errorf("ForceRelease: %v, %v", held, err)
			}
		},
		"Ping": func(t *testing.T, b *etcdlock.Backend, _ driver.Grant) {
			if err := b.Ping(t.Context()); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, _ *fake, b *etcdlock.Backend, s *spoiler) {
				g := testkit.MustTry(t, b, testkit.NewRequest("k"))
				var n atomic.Int64
				s.each(func(int, string) bool { return n.Add(1) == 1 })
				start := time.Now()
				call(t, b, g)
				if d := time.Since(start); n.Load() < 2 || d > 5*time.Second {
					t.Errorf("%d requests, %v", n.Load(), d)
				}
			})
		})
	}
}
