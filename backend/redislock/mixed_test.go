package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/redistest"
)

// stretch is the time after which a key is left free. It is spent in steps, because a lease
// is shorter.
const stretch = time.Second

// mixed returns a function that makes Backends with room for pollers, and a client of
// another library.
func mixed(t *testing.T, opts ...redislock.Option) (process func() *redislock.Backend, other *redis.Client) {
	t.Helper()
	m := redistest.Virtual(t)
	opts = append([]redislock.Option{redislock.WithPollers(pollEvery)}, opts...)
	return func() *redislock.Backend {
		t.Helper()
		return newBackend(t, redistest.VirtualClient(t, m, redistest.Buffered), opts...)
	}, redistest.VirtualClient(t, m, redistest.Buffered)
}

// patient is a request of a waiter that hardly polls.
func patient() driver.Request {
	r := request(lockKey)
	r.Backoff = driver.NewBackoff(time.Hour, 0)
	return r
}

func mustTake(t *testing.T, b *redislock.Backend, r driver.Request) driver.Grant {
	t.Helper()
	g, err := b.TryAcquire(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func give(t *testing.T, b *redislock.Backend, g driver.Grant) {
	t.Helper()
	if err := b.Release(t.Context(), g); err != nil {
		t.Error(err)
	}
}

// keptFree checks that an attempt is refused because the key is left free for that time.
func keptFree(t *testing.T, err error, left time.Duration) {
	t.Helper()
	if held, ok := errors.AsType[*driver.HeldError](err); !ok || held.RetryAfter != left {
		t.Errorf("%v (%+v), want that the key is left free for %v", err, held, left)
	}
}

// While a key is left free, attempts that do not wait are refused, and waiters keep their
// places. Afterwards the first one has it, and no other must poll for that.
func TestVirtualRoomKeepsTheOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		process, other := mixed(t)
		b := process()
		g := mustTake(t, b, patient())
		var waiters []*waiting
		for range 3 {
			waiters = append(waiters, acquire(t.Context(), process(), patient()))
			synctest.Wait()
		}
		time.Sleep(stretch)
		left := time.Now()
		give(t, b, g)
		if n := other.Exists(t.Context(), lockKey).Val(); n != 0 {
			t.Fatal("the key is not free")
		}
		_, err := b.TryAcquire(t.Context(), patient())
		keptFree(t, err, roomFor)
		time.Sleep(100 * time.Millisecond)
		late := acquire(t.Context(), b, patient())
		waiters = append(waiters, late)
		for i, w := range waiters {
			<-w.done
			if d := time.Since(left); w.err != nil || d < roomFor || d > roomFor+2*time.Millisecond {
				t.Fatalf("waiter %d has it after %v, want %v: %v", i, d, roomFor, w.err)
			}
			give(t, b, w.grant)
		}
		time.Sleep(patient().TTL + 2*stretch) // what is known of a stretch outlives the lease of a holder that was seen
		if keys := other.Keys(t.Context(), "*").Val(); !slices.Equal(keys, []string{redislock.ClockKey}) {
			t.Errorf("left: %q", keys)
		}
	})
}

// A waiter that gives up while the key is left free does not take the others' turn with it.
func TestVirtualRoomHeadLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		process, _ := mixed(t)
		b, first := process(), process()
		g := mustTake(t, b, patient())
		ctx, cancel := context.WithCancel(t.Context())
		r := patient()
		leaves := acquire(ctx, first, r)
		synctest.Wait()
		next := acquire(t.Context(), process(), patient())
		synctest.Wait()
		time.Sleep(stretch)
		left := time.Now()
		give(t, b, g)
		synctest.Wait()
		cancel()
		<-leaves.done
		give(t, first, r.Grant())
		<-next.done
		if d := time.Since(left); next.err != nil || d < roomFor || d > roomFor+2*time.Millisecond {
			t.Errorf("the next has it after %v: %v", d, next.err)
		}
	})
}

// The key of a holder that has died is left free, too, when its lease ends: others had no
// chance for as long. Then the first waiter has it.
func TestVirtualRoomAfterACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		process, other := mixed(t)
		g := mustTake(t, process(), patient())
		start := time.Now()
		w := acquire(t.Context(), process(), patient())
		time.Sleep(g.TTL + roomFor/2)
		if n := other.Exists(t.Context(), lockKey).Val(); n != 0 {
			t.Error("the key is not free")
		}
		<-w.done
		if d := time.Since(start) - g.TTL; w.err != nil || d < roomFor || d > roomFor+10*time.Millisecond {
			t.Errorf("it took %v after the lease: %v", d, w.err)
		}
	})
}

// After a stretch, a process may not go on with its lease, and the key is left free although
// no request waits for it. A process without the option may go on.
func TestVirtualRoomEndsExtensions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		process, other := mixed(t)
		b, plain := process(), newBackend(t, other)
		g := mustTake(t, b, patient())
		time.Sleep(stretch - time.Millisecond)
		if _, err := b.Extend(t.Context(), g, 1); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Millisecond)
		if _, err := b.Extend(t.Context(), g, 1); !errors.Is(err, driver.ErrNotAcquired) {
			t.Errorf("Extend: %v", err)
		}
		if _, err := plain.Extend(t.Context(), g, 1); err != nil {
			t.Errorf("without the option: %v", err)
		}
		give(t, b, g)
	})
}

// A process without the option takes a key that is left free, and its waiter does when it is
// told. So it may be on its way to the option, or from it.
func TestVirtualRoomBesideAProcessWithout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		process, other := mixed(t)
		b, plain := process(), newBackend(t, other)
		g := mustTake(t, b, patient())
		w := acquire(t.Context(), plain, patient())
		synctest.Wait()
		time.Sleep(stretch)
		left := time.Now()
		give(t, b, g)
		if <-w.done; w.err != nil || time.Since(left) != 0 {
			t.Fatalf("after %v: %v", time.Since(left), w.err)
		}
		_, err := b.TryAcquire(t.Context(), patient())
		if held, ok := errors.AsType[*driver.HeldError](err); !ok || held.RetryAfter <= roomFor {
			t.Errorf("%v", err)
		}
		give(t, plain, w.grant)
		give(t, plain, mustTake(t, plain, patient()))
		time.Sleep(roomFor)
		give(t, b, mustTake(t, b, patient()))
	})
}

// A reader that holds the key for long, or a holder of a permit, does not keep others from
// joining it for longer than its KeyTimeout.
func TestVirtualRoomBesideALongHolder(t *testing.T) {
	for name, o := range map[string]distlock.Opts{"reader": {Mode: distlock.Shared}, "permit": {Permits: 3}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				process, _ := mixed(t)
				l, other := distlock.New(process(), distlock.Config{}), distlock.New(process(), distlock.Config{})
				defer l.Close()
				defer other.Close()
				o.KeyTimeout = 10 * time.Second
				long, err := l.Acquire(t.Context(), lockKey, o)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(stretch + time.Millisecond)
				start := time.Now()
				short, err := other.Acquire(t.Context(), lockKey, o)
				if err != nil {
					t.Fatal(err)
				}
				if d := time.Since(start); d == 0 || d > o.KeyTimeout+2*stretch {
					t.Errorf("it joined after %v, with a KeyTimeout of %v", d, o.KeyTimeout)
				}
				for _, s := range []*distlock.Lease{short, long} {
					if err := s.Release(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}

// The first waiter looks as often as the other library while that has the key.
func TestVirtualRoomAndAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		process, other := mixed(t)
		if err := other.SetNX(t.Context(), lockKey, pollersOwner, time.Hour).Err(); err != nil {
			t.Fatal(err)
		}
		first := acquire(t.Context(), process(), patient())
		synctest.Wait()
		second := acquire(t.Context(), process(), patient())
		time.Sleep(10*pollEvery + pollEvery/2)
		other.Del(t.Context(), lockKey)
		free := time.Now()
		<-first.done
		if d := time.Since(free); first.err != nil || d > pollEvery {
			t.Errorf("it took %v: %v", d, first.err)
		}
		select {
		case <-second.done:
			t.Error("two have the key")
		default:
		}
		give(t, process(), first.grant)
		<-second.done
	})
}

// Times in the future are not believed: the clock was set back. Otherwise the key could not be
// taken for as long, or would never be left free.
func TestRoomClockSetBack(t *testing.T) {
	t.Parallel()
	m := miniredis.RunT(t)
	c := redis.NewClient(&redis.Options{Addr: m.Addr()})
	defer c.Close()
	b := newBackend(t, c, redislock.WithPollers(pollEvery))
	now := time.Now()
	m.SetTime(now)
	future := float64(now.Add(time.Hour).UnixMicro())
	c.ZAdd(t.Context(), goneKey, redis.Z{Score: future, Member: freeSince})
	g := mustTake(t, b, request(lockKey))
	c.ZAdd(t.Context(), goneKey, redis.Z{Score: future, Member: busySince})
	m.SetTime(now.Add(stretch))
	give(t, b, g)
	_, err := b.TryAcquire(t.Context(), request(lockKey))
	keptFree(t, err, roomFor)
}

// TestReleaseMessage checks when the message that another library waits for is sent: with
// each release that leaves the key free, and not when the key passes to a waiter.
func TestReleaseMessage(t *testing.T) {
	for _, room := range []bool{false, true} {
		t.Run(fmt.Sprint(room), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				opts := []redislock.Option{redislock.WithReleaseMessage(func(key string) (channel, message string) {
					if strings.HasPrefix(key, "silent") {
						return "", key
					}
					return "orders-channel:" + key, key
				})}
				if room {
					opts = append(opts, redislock.WithPollers(pollEvery))
				}
				m := redistest.Virtual(t)
				c := redistest.VirtualClient(t, m, redistest.Buffered)
				b, peer := newBackend(t, c, opts...), newBackend(t, redistest.VirtualClient(t, m, redistest.Buffered), opts...)
				sub := m.NewSubscriber()
				defer sub.Close()
				sub.Psubscribe("orders-channel:*")
				var got []string
				go func() {
					for msg := range sub.Pmessages() {
						got = append(got, msg.Channel+" "+msg.Message)
					}
				}()
				heard := func(what string, want ...string) {
					t.Helper()
					synctest.Wait()
					expect(t, what, got, want)
					got = nil
				}
				const message = "orders-channel:" + lockKey + " " + lockKey

				give(t, b, mustTake(t, b, request(lockKey)))
				heard("a release", message)
				give(t, b, mustTake(t, b, request("silent")))
				heard("without a channel")
				r := request(lockKey)
				r.Mode = driver.Shared
				one := mustTake(t, b, r)
				r.Owner += "2"
				two := mustTake(t, b, r)
				give(t, b, one)
				heard("one of two readers")
				give(t, b, two)
				heard("the last reader", message)

				g := mustTake(t, b, request(lockKey))
				w := acquire(t.Context(), peer, patient())
				synctest.Wait()
				give(t, b, g)
				<-w.done
				heard("it passes on")
				next := acquire(t.Context(), b, patient())
				synctest.Wait()
				if _, err := b.ForceRelease(t.Context(), lockKey); err != nil {
					t.Fatal(err)
				}
				<-next.done
				heard("it passes on by force")
				if _, err := b.ForceRelease(t.Context(), lockKey); err != nil {
					t.Fatal(err)
				}
				heard("by force", message)

				g = mustTake(t, b, request(lockKey))
				time.Sleep(g.TTL)
				if err := b.Release(t.Context(), g); !errors.Is(err, driver.ErrLost) {
					t.Errorf("a late release: %v", err)
				}
				heard("a late release", message)

				g = mustTake(t, b, request(lockKey))
				w = acquire(t.Context(), peer, patient())
				time.Sleep(stretch)
				give(t, b, g)
				if room {
					heard("it is left free", message)
				} else {
					heard("it passes on after a stretch")
				}
				<-w.done
			})
		})
	}
}

// A key that is held for less than a hundredth of the interval leaves nothing behind. One
// that is held for longer leaves a record for little more than a second.
func TestVirtualRoomLeavesLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		process, other := mixed(t)
		b := process()
		for hold, want := range map[time.Duration]int64{999 * time.Microsecond: 0, time.Millisecond: 1} {
			g := mustTake(t, b, request(lockKey))
			time.Sleep(hold)
			give(t, b, g)
			if n := other.Exists(t.Context(), goneKey).Val(); n != want {
				t.Errorf("held for %v: %d sets", hold, n)
			}
			time.Sleep(stretch + roomFor)
			if n := other.Exists(t.Context(), goneKey).Val(); n != 0 {
				t.Errorf("held for %v: the set is there for more than a second", hold)
			}
		}
	})
}

func TestMixedOptionPanics(t *testing.T) {
	for name, f := range map[string]func(){
		"short":    func() { redislock.WithPollers(time.Microsecond) },
		"long":     func() { redislock.WithPollers(time.Minute + 1) },
		"function": func() { redislock.WithReleaseMessage(nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}
