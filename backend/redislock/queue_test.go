package redislock_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// waiting is an Acquire in a goroutine.
type waiting struct {
	grant driver.Grant
	err   error
	done  chan struct{}
}

func acquire(ctx context.Context, b *redislock.Backend, r driver.Request) *waiting {
	w := &waiting{done: make(chan struct{})}
	go func() {
		defer close(w.done)
		w.grant, w.err = b.Acquire(ctx, r)
	}()
	return w
}

// commandCalls returns how often the server has run a command.
func (s server) commandCalls(t testing.TB, command string) int64 {
	t.Helper()
	info := s.InfoMap(context.Background(), "commandstats").Item("Commandstats", "cmdstat_"+command)
	var calls int64
	_, _ = fmt.Sscanf(info, "calls=%d,", &calls)
	return calls
}

// inboxes returns the number of inbox channels with a subscriber.
func (s server) inboxes(t testing.TB) int {
	t.Helper()
	return len(s.PubSubChannels(context.Background(), redislock.DefaultInboxPrefix+"*").Val())
}

// The Backend subscribes when somebody waits. After Close it still works, by polling, and the
// client is open.
func TestInboxIsLazyAndEndsWithClose(t *testing.T) {
	s := realServer(t)
	b := redislock.New(s.Client, unhurried)
	g := must(b.Acquire(t.Context(), request("k")))
	if n := s.inboxes(t); n != 0 {
		t.Errorf("%d inboxes before anybody has waited", n)
	}
	waiter := request("k")
	waiter.Backoff = driver.NewBackoff(100*time.Millisecond, 0)
	w := acquire(t.Context(), b, waiter)
	testkit.Eventually(t, "it listens", func() bool { return s.inboxes(t) == 1 })
	for range 2 {
		noError(t, b.Close())
	}
	testkit.Eventually(t, "it has stopped to listen", func() bool { return s.inboxes(t) == 0 })
	mustTry(t, b, request("k2"))
	mustRelease(t, b, g)
	<-w.done
	noError(t, w.err)
}

// A message that is older than the last refusal is of a grant that may have ended.
func TestOldMessageIsNotBelieved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := server{Client: redistest.VirtualClient(t, redistest.Virtual(t))}
		b := newBackend(t, s.Client)
		g := mustTry(t, b, request(lockKey))
		r := request(lockKey)
		r.Renews, r.Backoff = true, driver.NewBackoff(time.Hour, 0)
		w := acquire(t.Context(), b, r)
		synctest.Wait()
		channel := s.PubSubChannels(t.Context(), "*").Val()[0]
		noError(t, s.Publish(t.Context(), channel, fmt.Sprintf("%s 10000 %016d %016d 0", r.Owner, g.LastToken-1, g.LastToken)).Err())
		synctest.Wait()
		mustRelease(t, b, g)
		<-w.done
		if w.err != nil || w.grant.Token <= g.LastToken {
			t.Fatalf("token %d after %d, %v", w.grant.Token, g.LastToken, w.err)
		}
		mustRelease(t, b, w.grant)
	})
}

// A thousand readers of several processes hold a key together, and the waiting writer gets it
// from the last of them.
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
			var err error
			if grants[i], err = bs[i%len(bs)].Acquire(t.Context(), r); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := s.ZCard(t.Context(), lockKey).Val(); n != 1000 {
		t.Fatalf("%d readers have the key", n)
	}
	highest := uint64(0)
	for _, g := range grants {
		highest = max(highest, g.LastToken)
	}
	renewed(t, driver.RenewAll(t.Context(), bs[0], grants), all(driver.Renewed))

	r := request(lockKey)
	r.Backoff = driver.NewBackoff(time.Hour, 0)
	w := acquire(t.Context(), bs[0], r)
	testkit.Eventually(t, "the writer waits", func() bool { return s.ZCard(t.Context(), queueKey).Val() == 1 })
	late := reader(lockKey)
	late.Backoff = driver.NewBackoff(time.Millisecond, 1)
	_, err := bs[1].Acquire(t.Context(), late)
	matches(t, "a reader behind the writer", err, driver.ErrNotAcquired)
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
