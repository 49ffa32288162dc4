package redislock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
)

// The same wait for hours: a holder that is renewed for long, and waiters in two
// processes, one of which dies.
func TestVirtualHours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := redistest.Virtual(t)
		c := redistest.VirtualClient(t, m)
		b := newBackend(t, c)
		long := request(lockKey)
		long.TTL = time.Minute
		held, err := b.TryAcquire(t.Context(), long)
		if err != nil {
			t.Fatal(err)
		}
		// It polls so rarely that its queue would expire between two polls.
		patient := request(lockKey)
		patient.Backoff = driver.NewBackoff(10*time.Minute, 0)
		w := acquire(t.Context(), b, patient)
		synctest.Wait()

		dead := newBackend(t, redistest.VirtualClient(t, m))
		ctx, kill := context.WithCancel(t.Context())
		dying := acquire(ctx, dead, request(lockKey))
		synctest.Wait()
		kill()
		<-dying.done

		last := newBackend(t, redistest.VirtualClient(t, m))
		r := request(lockKey)
		r.Backoff = driver.NewBackoff(5*time.Second, 0)
		w2 := acquire(t.Context(), last, r)
		synctest.Wait()

		for range 3 * 60 * 3 {
			time.Sleep(20 * time.Second)
			if got := driver.RenewAll(t.Context(), b, []driver.Grant{held}); got[0].Status != driver.Renewed {
				t.Fatalf("renewal: %+v", got)
			}
		}
		start := time.Now()
		if err := b.Release(t.Context(), held); err != nil {
			t.Fatal(err)
		}
		<-w.done
		if d := time.Since(start); w.err != nil || d != 0 {
			t.Errorf("the first got it after %v: %v", d, w.err)
		}
		if w.grant.Token <= held.LastToken {
			t.Errorf("token %d after %d", w.grant.Token, held.LastToken)
		}
		start = time.Now()
		if err := b.Release(t.Context(), w.grant); err != nil {
			t.Fatal(err)
		}
		<-w2.done
		if d := time.Since(start); w2.err != nil || d > redislock.DefaultClaimWindow+10*time.Second {
			t.Errorf("behind a dead one it took %v: %v", d, w2.err)
		}
	})
}

// A waiter with a long interval keeps its place, although queues expire without
// requests.
func TestVirtualPatientWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := redistest.Virtual(t)
		c := redistest.VirtualClient(t, m)
		b := newBackend(t, c)
		long := request(lockKey)
		long.TTL = time.Hour
		g, err := b.TryAcquire(t.Context(), long)
		if err != nil {
			t.Fatal(err)
		}
		r := request(lockKey)
		r.Backoff = driver.NewBackoff(time.Hour, 0)
		w := acquire(t.Context(), b, r)
		synctest.Wait()
		ticket := c.ZScore(t.Context(), queueKey, b.Member(r.Owner)).Val()
		for range 30 {
			time.Sleep(time.Minute)
			if got := c.ZScore(t.Context(), queueKey, b.Member(r.Owner)).Val(); ticket == 0 || got != ticket {
				t.Fatalf("the ticket was %f and is %f", ticket, got)
			}
		}
		if err := b.Release(t.Context(), g); err != nil {
			t.Fatal(err)
		}
		<-w.done
		if w.err != nil {
			t.Error(w.err)
		}
		// A queue of dead owners expires.
		ctx, cancel := context.WithCancel(t.Context())
		dying := acquire(ctx, b, request(lockKey))
		synctest.Wait()
		cancel()
		<-dying.done
		time.Sleep(redislock.QueueTTL)
		if n := c.Exists(t.Context(), queueKey).Val(); n != 0 {
			t.Error("a queue of the dead is left")
		}
	})
}

// The lock of a dead holder is granted as soon as its lease ends, not at the next poll.
func TestVirtualDeadHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := redistest.VirtualClient(t, redistest.Virtual(t))
		b := newBackend(t, c)
		if _, err := b.TryAcquire(t.Context(), request(lockKey)); err != nil {
			t.Fatal(err)
		}
		r := request(lockKey)
		r.Backoff = driver.NewBackoff(time.Hour, 0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		start := time.Now()
		if _, err := b.Acquire(ctx, r); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d < r.TTL || d > r.TTL+10*time.Millisecond {
			t.Errorf("it took %v after a lease of %v", d, r.TTL)
		}
	})
}

// go-redis does not notice a dead subscription. The inbox does.
func TestVirtualDeafSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := redistest.Virtual(t)
		n := spoilnet.To(m.Dial)
		own := redistest.VirtualClient(t, m, func(o *redis.Options) { o.Dialer = n.DialContext; o.ConnMaxIdleTime = time.Second })
		b := newBackend(t, own)
		other := newBackend(t, redistest.VirtualClient(t, m))

		r := request(lockKey)
		r.TTL = time.Hour
		g, err := other.TryAcquire(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		waiter := request(lockKey)
		waiter.Backoff = driver.NewBackoff(time.Hour, 0)
		w := acquire(t.Context(), b, waiter)
		time.Sleep(time.Minute)
		select {
		case <-w.done:
			t.Fatal(w.err)
		default:
		}

		// Long before its next check, which is every twenty seconds.
		time.Sleep(time.Second)
		n.Cut()
		start := time.Now()
		if err := other.Release(t.Context(), g); err != nil {
			t.Fatal(err)
		}
		<-w.done
		if d := time.Since(start); w.err != nil || d > 4*redislock.PingEvery {
			t.Errorf("deaf for %v: %v", d, w.err)
		}
	})
}
