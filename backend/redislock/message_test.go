package redislock_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
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
	return len(s.PubSubChannels(context.Background(), "distlock:inbox:"+"*").Val())
}

// The Backend subscribes when somebody waits. After Close it still works, by polling,
// and the client is open.
func TestInboxIsLazyAndEndsWithClose(t *testing.T) {
	s := realServer(t)
	b := redislock.Open(s.Client, unhurried)
	g := must(b.Enqueue(t.Context(), request("k")))
	if n := s.inboxes(t); n != 0 {
		t.Errorf("%d inboxes before anybody has waited", n)
	}
	w := testkit.StartWaiter(t, b, request("k"), testkit.Looks{Every: 100 * time.Millisecond})
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
		r.Renews = true
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

// Only messages are lost: the waiter finds out in time to claim the lock, or later. A
// new subscription, which would wake it, comes six seconds later at the earliest.
//
// Row 15 (redislock): a waiter finds its turn by polling. Fails if waiters do not poll.
func TestMessageLost(t *testing.T) {
	for mode, ask := range modes {
		for _, poll := range []time.Duration{redislock.ClaimWindow / 4, 6 * redislock.ClaimWindow / 5} {
			testkit.InBubble(t, fmt.Sprintf("%s/%v", mode, poll), func(t *testing.T) {
				m := redistest.Virtual(t)
				c, n := overNetwork(t, m)
				b, other := newBackend(t, c), newBackend(t, redistest.VirtualClient(t, m))
				held := request(lockKey)
				held.TTL = time.Hour
				g := mustTry(t, other, held)
				n.At(spoilnet.Deafen, func(p []byte) bool { return bytes.Contains(p, []byte("subscribe")) })
				var line []*testkit.Waiter
				for range 3 {
					line = append(line, testkit.StartWaiter(t, b, ask(lockKey), testkit.Looks{Every: poll}))
					synctest.Wait()
				}
				if n.Deaf() != 1 {
					t.Fatalf("%d connections are deaf", n.Deaf())
				}
				start := time.Now()
				mustRelease(t, other, g)
				var all sync.WaitGroup
				for i, w := range line {
					all.Go(func() {
						<-w.Done
						// Each waiter polls within twice the interval, and waits for at
						// most one claim window of a waiter that did not know of its
						// turn.
						if d := time.Since(start); w.Err != nil || d > 3*(2*poll+redislock.ClaimWindow) {
							t.Errorf("number %d: %v after %v", i, w.Err, d)
						}
						mustRelease(t, b, w.Got)
					})
				}
				all.Wait()
				if keys := m.Keys(); len(keys) != 1 {
					t.Errorf("left behind: %q", keys)
				}
			})
		}
	}
}

// In two and in four processes that no message reaches, as without the right to subscribe,
// waiters ask soon enough: a key is used half as well as with messages, and in equal shares.
func TestVirtualWithoutMessages(t *testing.T) {
	const hold, span = time.Millisecond, 400 * time.Millisecond
	shares := func(t *testing.T, processes, goroutines int, deaf bool) (least, all int) {
		t.Helper()
		m := redistest.Virtual(t)
		ctx, cancel := context.WithTimeout(t.Context(), span)
		defer cancel()
		var callers sync.WaitGroup
		counts := make([]int, processes)
		for i := range counts {
			l, n := virtualLocker(t, m)
			if deaf {
				n.At(spoilnet.Deafen, func(p []byte) bool { return bytes.Contains(p, []byte("subscribe")) })
			}
			for range goroutines {
				callers.Go(func() {
					for ctx.Err() == nil {
						_ = l.Do(ctx, lockKey, distlock.Opts{}, func(context.Context) error {
							counts[i]++
							time.Sleep(hold)
							return nil
						})
					}
				})
			}
		}
		callers.Wait()
		for _, n := range counts {
			all += n
		}
		return slices.Min(counts), all
	}
	for _, processes := range []int{2, 4} {
		for _, goroutines := range []int{1, 4} {
			testkit.InBubble(t, fmt.Sprint(processes, "/", goroutines), func(t *testing.T) {
				_, told := shares(t, processes, goroutines, false)
				least, all := shares(t, processes, goroutines, true)
				t.Logf("%d locks, and %d with messages", all, told)
				if all < told/2 || least < all/processes/2 {
					t.Errorf("%d locks, and %d with messages; one process had %d", all, told, least)
				}
			})
		}
	}
}
