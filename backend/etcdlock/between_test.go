package etcdlock_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
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

// TestBudgets: a lease, and the age of the keep-alive that it begins with, leave a
// tenth of the session for clocks. Without a keep-alive of that age nothing is extended.
func TestBudgets(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *fake, b *etcdlock.Backend, _ *spoiler) {
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
		f.slow(func(bool) time.Duration { return lost })
		time.Sleep(7 * time.Second)
		testkit.MustRenew(t, b, more)
		time.Sleep(2 * time.Second)
		if _, err := b.Extend(t.Context(), more, 4); err == nil {
			t.Error("extended, and the last keep-alive was sent before nine seconds")
		}
		testkit.MustRelease(t, b, more)
	})
}

// TestKeptKey: a key that is kept stays so when its process has ended, whatever arrives
// late, and is free a second after the time at most.
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

// TestKeepAliveOfAnotherStream: a keep-alive is lost or answered late, and another
// stream has an answer before. The next lock does not wait, and needs no third one: the
// older does not count.
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
		for i, ttl := range []time.Duration{10 * time.Second, 3 * time.Second, 3 * time.Second} {
			r := testkit.NewRequest("k")
			r.TTL = ttl
			testkit.MustRelease(t, b, testkit.MustTry(t, b, r))
			if n := strings.Count(out.String(), "session=20s"); n != min(i, 1) {
				t.Errorf("after a lease of %v, %d lines: %s", ttl, n, &out)
			}
		}
	})
}

// TestJoinBetweenTheLooks: a reader looks who has the key, and a writer takes a place
// before the reader's. The reader is behind it.
func TestJoinBetweenTheLooks(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *fake, b *etcdlock.Backend, s *spoiler) {
		other, _ := newVirtual(t, f)
		reader, writer := testkit.NewRequest("k"), testkit.NewRequest("k")
		reader.Mode = driver.Shared
		testkit.MustTry(t, other, reader)
		mustWork(t, b, "session")
		looks := 0
		s.each(func(_ int, method string) fate {
			if method == "Txn" {
				if looks++; looks == 2 {
					_, _ = other.Enqueue(t.Context(), writer)
				}
			}
			return sent
		})
		second := testkit.NewRequest("k")
		second.Mode = driver.Shared
		if _, err := b.TryAcquire(t.Context(), second); !errors.Is(err, driver.ErrNotAcquired) || looks < 2 {
			t.Errorf("a reader beside a writer that came before: %v after %d looks", err, looks)
		}
		s.each(func(_ int, method string) fate { return map[bool]fate{true: refused}[method == "Txn"] })
		if err := b.Release(t.Context(), writer.Grant()); err == nil || errors.Is(err, driver.ErrLost) {
			t.Errorf("a server without space deletes no place of another process: %v", err)
		}
	})
}

// TestConnectionLeadsNowhere: nothing arrives on the connections any more, and nothing
// closes them. Or they lead to a member that has lost the others, and the address to
// one that has not. The first lock is taken within the time of one operation, or of two
// if the member refuses, and a lease of three seconds is kept.
func TestConnectionLeadsNowhere(t *testing.T) {
	silent := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	refusing := func(context.Context) error { return rpctypes.ErrGRPCNoLeader }
	for name, c := range map[string]struct {
		fail       func(t *testing.T, f *fake)
		alone, max time.Duration
	}{
		"dead":                        {func(_ *testing.T, f *fake) { f.network.Cut() }, 0, 2 * time.Second},
		"dead, renewals alone":        {func(_ *testing.T, f *fake) { f.network.Cut() }, 10 * time.Second, 2 * time.Second},
		"another member, silent":      {func(t *testing.T, f *fake) { f.move(t, silent) }, 0, 2 * time.Second},
		"another member, no leader":   {func(t *testing.T, f *fake) { f.move(t, refusing) }, 0, 4 * time.Second},
		"the same, and renewals only": {func(t *testing.T, f *fake) { f.move(t, refusing) }, 10 * time.Second, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, f *fake, _ *etcdlock.Backend, s *spoiler) {
				b := newBackend(t, f.client(t, s), etcdlock.Config{SessionTTL: 20 * time.Second, OpTimeout: 2 * time.Second})
				locker := testkit.NewLocker(t, b, distlock.Config{})
				lease := testkit.MustAcquire(t, locker, "held", distlock.Opts{KeyTimeout: 2 * time.Second})
				c.fail(t, f)
				time.Sleep(c.alone)
				start := time.Now()
				testkit.ReleaseRepeatedly(t, b, testkit.TryRepeatedly(t, b, testkit.NewRequest("k")))
				if d := time.Since(start); d > c.max {
					t.Errorf("the first lock took %v", d)
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

// TestKeepAlivesOnADeadConnection: the connection of a session that nobody uses dies.
// The next lock has a session that was kept alive.
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

// TestNothingSent: without a lease of etcd nothing is sent for a key, and no slot is
// left. After an attempt in doubt another one is not certain.
func TestNothingSent(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *fake, b *etcdlock.Backend, s *spoiler) {
		mustWork(t, b, "session")
		doubt := testkit.NewRequest("first")
		for name, try := range attempts {
			s.each(func(int, string) fate { return silent })
			if _, err := try(t.Context(), b, doubt); err == nil || errors.Is(err, driver.ErrNotSent) {
				t.Errorf("%s in doubt: %v", name, err)
			}
			lease, _ := f.lastLease()
			f.revoke(lease)
			time.Sleep(25 * time.Second) // the session is known to have ended
			if _, err := try(t.Context(), b, testkit.NewRequest("key")); !errors.Is(err, driver.ErrNotSent) {
				t.Errorf("%s without a session: %v", name, err)
			}
			if n := etcdlock.Slots(b); n != 1 {
				t.Errorf("%d keys have slots, want the one in doubt", n)
			}
		}
		s.each(nil)
		testkit.ReleaseRepeatedly(t, b, doubt.Grant()) // its session has ended
		if etcdlock.WaitForSweeper(t, b); etcdlock.Slots(b) != 0 {
			t.Error("a slot is kept for a place that has ended with its session")
		}
	})
}

// TestDeletedWithoutFence: a server without space deletes the place of an owner that has
// given up, and does not write the fence. What arrives late is deleted, too.
func TestDeletedWithoutFence(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *fake, b *etcdlock.Backend, s *spoiler) {
		mustWork(t, b, "session")
		r := testkit.NewRequest("k")
		s.postpone("Txn")
		if _, err := b.TryAcquire(t.Context(), r); err == nil {
			t.Fatal("an attempt without an answer succeeded")
		}
		s.each(func(_ int, method string) fate { return map[bool]fate{true: refused}[method == "Put"] })
		_ = b.Release(t.Context(), r.Grant())
		time.Sleep(time.Second)
		s.send(t)
		s.each(nil)
		if etcdlock.WaitForSweeper(t, b); len(f.places("k")) != 0 || etcdlock.Slots(b) != 0 {
			t.Errorf("%d places for nobody are left, and %d slots", len(f.places("k")), etcdlock.Slots(b))
		}
	})
}

// TestCallerLeavesBeforeTheAnswer: the request of a caller that has left arrives after its
// release, and leaves nothing.
func TestCallerLeavesBeforeTheAnswer(t *testing.T) {
	for name, try := range attempts {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, f *fake, b *etcdlock.Backend, s *spoiler) {
				mustWork(t, b, "session")
				s.each(func(_ int, method string) fate { return map[bool]fate{true: silent}[method == "Txn"] })
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Millisecond, cancel) // before there is a second request
				r := testkit.NewRequest("k")
				if _, err := try(ctx, b, r); err == nil || errors.Is(err, driver.ErrNotSent) {
					t.Errorf("an attempt in doubt: %v", err)
				}
				s.each(nil)
				testkit.MustRelease(t, b, r.Grant())
				etcdlock.WaitForSweeper(t, b)
				if s.send(t); len(f.places("k")) != 0 {
					t.Error("a place for nobody is left")
				}
			})
		})
	}
}

// TestReconnectsAreFew: no server answers for a minute, whatever is asked. The connections
// are replaced once in the time of two operations.
func TestReconnectsAreFew(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *fake, b *etcdlock.Backend, s *spoiler) {
		mustWork(t, b, "session")
		s.each(func(int, string) fate { return silent })
		before := f.dials.Load()
		for start := time.Now(); time.Since(start) < time.Minute; {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_ = b.Ping(ctx)
			cancel()
		}
		if n := f.dials.Load() - before; n < 3 || n > 14 {
			t.Errorf("%d connections in a minute", n)
		}
	})
}

// TestSilentServers: the first request of its kind in a call reaches a server that does
// not answer. The call succeeds within the time of one operation, by the second.
func TestSilentServers(t *testing.T) {
	type call = func(t *testing.T, b *etcdlock.Backend, g driver.Grant) error
	work := func(t *testing.T, b *etcdlock.Backend, _ driver.Grant) error { mustWork(t, b, "other"); return nil }
	for name, c := range map[string]struct {
		silent string // "": any request
		first  bool   // there is no session yet
		call   call
	}{
		"the first lock, lease":    {silent: "LeaseGrant", first: true, call: work},
		"the first lock, fence":    {silent: "Put", first: true, call: work},
		"the first lock, place":    {silent: "Txn", first: true, call: work},
		"TryAcquire of a free key": {call: work},
		"TryAcquire of a held key": {call: func(t *testing.T, b *etcdlock.Backend, g driver.Grant) error {
			testkit.MustBeBusy(t, b, g.Key)
			return nil
		}},
		"Renew": {call: func(t *testing.T, b *etcdlock.Backend, g driver.Grant) error { return testkit.Renewed(t, b, g) }},
		"Retain": {call: func(t *testing.T, b *etcdlock.Backend, g driver.Grant) error {
			g.Retain = true
			return testkit.Renewed(t, b, g)
		}},
		"Release": {call: func(t *testing.T, b *etcdlock.Backend, g driver.Grant) error {
			err := b.Release(t.Context(), g)
			etcdlock.WaitForSweeper(t, b)
			mustWork(t, b, g.Key)
			return err
		}},
		"Extend": {call: func(t *testing.T, b *etcdlock.Backend, g driver.Grant) error {
			_, err := b.Extend(t.Context(), g, 4)
			return err
		}},
		"Inspect": {call: func(t *testing.T, b *etcdlock.Backend, g driver.Grant) error {
			infos, err := b.Inspect(t.Context(), g.Key, 1)
			if len(infos) != 1 {
				t.Errorf("Inspect: %+v", infos)
			}
			return err
		}},
		"ForceRelease": {call: func(t *testing.T, b *etcdlock.Backend, g driver.Grant) error {
			held, err := b.ForceRelease(t.Context(), g.Key)
			if !held {
				t.Error("ForceRelease found no holder")
			}
			return err
		}},
		"Ping": {call: func(t *testing.T, b *etcdlock.Backend, _ driver.Grant) error { return b.Ping(t.Context()) }},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, _ *fake, b *etcdlock.Backend, s *spoiler) {
				var g driver.Grant
				if !c.first {
					g = testkit.MustTry(t, b, testkit.NewRequest("k"))
				}
				var n atomic.Int64
				s.each(func(_ int, method string) fate {
					if (c.silent == "" || method == c.silent) && n.Add(1) == 1 {
						return silent
					}
					return sent
				})
				start := time.Now()
				if err := c.call(t, b, g); err != nil {
					t.Error(err)
				}
				if d := time.Since(start); n.Load() < 2 || d > 5*time.Second {
					t.Errorf("%d requests, %v", n.Load(), d)
				}
			})
		})
	}
}

// TestWatchesFail: no server can watch, as without a leader. A waiter asks a few times a
// second, each time on another stream, and has the key soon after it is free.
func TestWatchesFail(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *fake, b *etcdlock.Backend, s *spoiler) {
		g := testkit.MustTry(t, b, testkit.NewRequest("k"))
		f.unwatched = true
		var asked atomic.Int64
		s.each(func(int, string) fate { asked.Add(1); return sent })
		w := testkit.StartWaiter(t, b, testkit.NewRequest("k"), testkit.Looks{Every: time.Hour})
		time.Sleep(8 * time.Second)
		if n := asked.Load(); n > 80 {
			t.Errorf("%d requests in eight seconds", n)
		}
		testkit.MustRelease(t, b, g)
		testkit.MustRelease(t, b, w.Served(t))
		if n := len(f.failed); n < 8 || len(slices.Compact(slices.Clone(f.failed))) != n {
			t.Errorf("of %d failed watches, some used a stream that had failed", n)
		}
	})
}

// TestLooksGoTogether: the looks of hundreds of waiters are few requests. They hear of no
// release, and each has the key after its next look.
func TestLooksGoTogether(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *fake, b *etcdlock.Backend, s *spoiler) {
		const keys, every = 500, 750 * time.Millisecond
		f.deaf = true
		var grants [keys]driver.Grant
		var waiters [keys]*testkit.Waiter
		for i := range keys {
			r := testkit.NewRequest(fmt.Sprint(i))
			grants[i] = testkit.MustTry(t, b, r)
			waiters[i] = testkit.StartWaiter(t, b, testkit.NewRequest(r.Key), testkit.Looks{Every: every})
			time.Sleep(every / keys)
		}
		var asked atomic.Int64
		s.each(func(int, string) fate { asked.Add(1); return sent })
		time.Sleep(8 * time.Second)
		if n := asked.Load(); n > 8*50 {
			t.Errorf("%d requests in eight seconds for %d waiters", n, keys)
		}
		for _, g := range grants {
			testkit.MustRelease(t, b, g)
		}
		free := time.Now()
		for _, w := range waiters {
			if testkit.MustRelease(t, b, w.Served(t)); w.At.Sub(free) > 2*every+100*time.Millisecond {
				t.Errorf("a waiter has the key after %v", w.At.Sub(free))
			}
		}
	})
}

// A free lock costs one transaction that writes and reads nothing. Another place in the
// queue is found by a second one, which reads. An owner that has a place only reads.
func TestFreeLockReadsNothing(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *fake, b *etcdlock.Backend, _ *spoiler) {
		first, second := testkit.NewRequest("key"), testkit.NewRequest("key")
		for i, r := range []driver.Request{first, second} {
			_, err := b.Enqueue(t.Context(), r)
			if held := errors.Is(err, driver.ErrNotAcquired); held != (i > 0) {
				t.Fatalf("owner %d: %v", i, err)
			}
			if got, want := [2]int{len(f.txn.Success), len(f.txn.Failure)}, [2]int{1 + i, 2 * i}; got != want {
				t.Errorf("owner %d: %v operations, want %v", i, got, want)
			}
		}
		names := f.places("key")
		testkit.MustRelease(t, b, first.Grant())
		if _, err := b.Enqueue(t.Context(), second); err != nil || len(f.txn.Failure) > 0 {
			t.Errorf("the look that gets the key may write: %v", err)
		}
		etcdlock.WaitForSweeper(t, b)
		_, _ = b.Enqueue(t.Context(), testkit.NewRequest("key"))
		for _, path := range f.places("key") {
			if !slices.Contains(names, path) {
				t.Errorf("%s is a third name for two places: %q", path, names)
			}
		}
	})
}
