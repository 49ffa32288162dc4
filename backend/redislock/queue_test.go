package redislock_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

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
	w := testkit.StartWaiter(t, b, waiter)
	testkit.Eventually(t, "it listens", func() bool { return s.inboxes(t) == 1 })
	for range 2 {
		noError(t, b.Close())
	}
	testkit.Eventually(t, "it has stopped to listen", func() bool { return s.inboxes(t) == 0 })
	mustTry(t, b, request("k2"))
	mustRelease(t, b, g)
	w.Served(t)
}

// A message that is older than the last refusal is of a grant that may have ended.
func TestOldMessageIsNotBelieved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := server{Client: redistest.VirtualClient(t, redistest.Virtual(t))}
		b := newBackend(t, s.Client)
		g := mustTry(t, b, request(lockKey))
		r := request(lockKey)
		r.Renews, r.Backoff = true, driver.NewBackoff(time.Hour, 0)
		w := testkit.StartWaiter(t, b, r)
		synctest.Wait()
		channel := s.PubSubChannels(t.Context(), "*").Val()[0]
		noError(t, s.Publish(t.Context(), channel, fmt.Sprintf("%s 10000 %016d %016d 0", r.Owner, g.LastToken-1, g.LastToken)).Err())
		synctest.Wait()
		mustRelease(t, b, g)
		<-w.Done
		if w.Err != nil || w.Got.Token <= g.LastToken {
			t.Fatalf("token %d after %d, %v", w.Got.Token, g.LastToken, w.Err)
		}
		mustRelease(t, b, w.Got)
	})
}
