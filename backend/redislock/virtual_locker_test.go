package redislock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
)

// virtualLocker returns a Locker with connections of its own to m, and their network.
func virtualLocker(t *testing.T, m *miniredis.Miniredis) (*distlock.Locker, *spoilnet.Network) {
	t.Helper()
	n := spoilnet.To(m.Dial)
	c := redistest.VirtualClient(t, m, func(o *redis.Options) { o.Dialer = n.DialContext })
	l := distlock.New(newBackend(t, c), distlock.Config{})
	t.Cleanup(func() { _ = l.Close() })
	return l, n
}

func lockFor(t *testing.T, l *distlock.Locker, o distlock.Opts) *distlock.Lease {
	t.Helper()
	lease, err := l.Acquire(t.Context(), lockKey, o)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

func TestVirtualWatchdogForHours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := redistest.Virtual(t)
		l, _ := virtualLocker(t, m)
		other, _ := virtualLocker(t, m)
		lease := lockFor(t, l, distlock.Opts{KeyTimeout: 30 * time.Second})
		for range 3 {
			time.Sleep(time.Hour)
			if err := lease.Check(); err != nil {
				t.Fatal(err)
			}
			if _, err := other.TryAcquire(t.Context(), lockKey, distlock.Opts{}); !errors.Is(err, driver.ErrNotAcquired) {
				t.Fatalf("another got: %v", err)
			}
		}
		// The key is removed without the holder's knowledge: the next renewal detects
		// it.
		m.Del(lockKey)
		gone := time.Now()
		<-lease.Context().Done()
		if d := time.Since(gone); d > 10*time.Second {
			t.Errorf("told of the loss after %v", d)
		}
		if err := lease.Release(t.Context()); !errors.Is(err, driver.ErrLost) {
			t.Errorf("Release: %v", err)
		}
	})
}

func TestVirtualPartition(t *testing.T) {
	for name, cut := range map[string]func(n *spoilnet.Network){
		"both ways": func(n *spoilnet.Network) { n.Hang(true) },
		"one way":   (*spoilnet.Network).Deafen,
		"refused":   func(n *spoilnet.Network) { n.Refuse(true); n.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := redistest.Virtual(t)
				l, n := virtualLocker(t, m)
				other, _ := virtualLocker(t, m)
				lease := lockFor(t, l, distlock.Opts{KeyTimeout: 10 * time.Second})
				time.Sleep(time.Hour)
				// New connections are cut as well: Deafen does not end by itself.
				n.Hang(name != "refused")
				cut(n)
				var next *distlock.Lease
				var granted time.Time
				done := make(chan struct{})
				go func() {
					defer close(done)
					next = lockFor(t, other, distlock.Opts{})
					granted = time.Now()
				}()
				<-lease.Context().Done()
				told := time.Now()
				<-done
				if margin := granted.Sub(told); margin <= 0 {
					t.Errorf("told %v after another had the key", -margin)
				}
				if next.Token() <= lease.Token() {
					t.Errorf("token %d after %d", next.Token(), lease.Token())
				}
				if err := lease.Release(t.Context()); !errors.Is(err, driver.ErrLost) {
					t.Errorf("Release: %v", err)
				}
				if err := next.Release(t.Context()); err != nil {
					t.Error(err)
				}
				n.Hang(false)
				n.Refuse(false)
				n.Kill() // connections that hang are not closed otherwise
			})
		})
	}
}

func TestVirtualWaitBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := redistest.Virtual(t)
		l, _ := virtualLocker(t, m)
		other, _ := virtualLocker(t, m)
		held := lockFor(t, l, distlock.Opts{KeyTimeout: 2 * time.Hour})
		for _, attempts := range []int{1, 2, 10} {
			o := distlock.Opts{RetryCount: attempts, RetryInterval: 5 * time.Second}
			least := time.Duration(attempts-1) * 5 * time.Second
			start := time.Now()
			_, err := other.Acquire(t.Context(), lockKey, o)
			if d := time.Since(start); !errors.Is(err, driver.ErrNotAcquired) || d < least || d > 2*least {
				t.Errorf("%d attempts: %v after %v", attempts, err, d)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		start := time.Now()
		_, err := other.Acquire(ctx, lockKey, distlock.Opts{})
		if d := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || d != 10*time.Minute {
			t.Errorf("%v after %v", err, d)
		}
		if err := held.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestVirtualTurns has two processes with many busy goroutines. Each process hands the
// lock over internally, within its limits, and then lets the other have it.
func TestVirtualTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const goroutines, visits = 20, 40
		m := redistest.Virtual(t)
		one, _ := virtualLocker(t, m)
		two, _ := virtualLocker(t, m)
		var wg sync.WaitGroup
		var inside, last *distlock.Locker
		var token uint64
		var longest, row int
		for _, l := range []*distlock.Locker{one, two} {
			for range goroutines {
				wg.Go(func() {
					for range visits {
						lease := lockFor(t, l, distlock.Opts{})
						if inside != nil {
							t.Error("two are inside")
						}
						if inside = l; lease.Token() <= token {
							t.Errorf("token %d after %d", lease.Token(), token)
						}
						if row++; last != l {
							last, row = l, 1
						}
						token, longest = lease.Token(), max(longest, row)
						time.Sleep(time.Millisecond)
						inside = nil
						if err := lease.Release(t.Context()); err != nil {
							t.Error(err)
						}
					}
				})
			}
		}
		wg.Wait()
		if most := 64 + 1; longest > most { // the server answers in no time
			t.Errorf("one process had %d turns in a row, want at most %d", longest, most)
		}
		if longest < 10 {
			t.Errorf("%d turns in a row: nothing was handed over", longest)
		}
	})
}
