package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
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

func TestQueueAcrossBackends(t *testing.T) {
	eachServer(t, func(t *testing.T, s server) {
		bs := []*redislock.Backend{newBackend(t, s.Client), newBackend(t, s.Client)}
		first := request(lockKey)
		g, err := bs[0].TryAcquire(t.Context(), first)
		if err != nil {
			t.Fatal(err)
		}
		var line []*waiting
		for i := range 10 {
			line = append(line, acquire(t.Context(), bs[i%2], request(lockKey)))
			testkit.Eventually(t, "it has queued", func() bool { return s.ZCard(t.Context(), queueKey).Val() == int64(i+1) })
		}
		for i, w := range line {
			for _, later := range line[i:] {
				select {
				case <-later.done:
					t.Fatalf("number %d did not wait: %+v", i, later)
				default:
				}
			}
			if err := bs[i%2].Release(t.Context(), g); err != nil {
				t.Fatal(err)
			}
			<-w.done
			if w.err != nil || w.grant.Token <= g.LastToken {
				t.Fatalf("number %d: %+v, %v after token %d", i, w.grant, w.err, g.LastToken)
			}
			g = w.grant
		}
		if err := bs[0].Release(t.Context(), g); err != nil {
			t.Fatal(err)
		}
		if n := s.Exists(t.Context(), lockKey, queueKey).Val(); n != 0 {
			t.Errorf("left behind:\n%s", s.dump(t))
		}
	})
}

// A release wakes one waiter, however many wait in all processes, and costs few
// commands. Polling does not help here: the intervals are long.
func TestOneWakeUpPerRelease(t *testing.T) {
	s := realServer(t)
	const processes, rounds = 4, 200
	var wg sync.WaitGroup
	var mu sync.Mutex
	held, highest := 0, uint64(0)
	for range processes {
		b := newBackend(t, s.Client)
		wg.Go(func() {
			for range rounds {
				g, err := b.Acquire(t.Context(), request("k"))
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if held++; held != 1 || g.Token <= highest {
					t.Errorf("%d holders, token %d after %d", held, g.Token, highest)
				}
				highest = g.LastToken
				held--
				mu.Unlock()
				if err := b.Release(t.Context(), g); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	calls := s.commandCalls(t, "evalsha")
	if most := int64(processes * rounds * 4); calls > most {
		t.Errorf("%d script calls for %d acquisitions", calls, processes*rounds)
	}
	t.Logf("%.2f script calls for each acquisition", float64(calls)/(processes*rounds))
}

// commandCalls returns how often the server has run a command.
func (s server) commandCalls(t testing.TB, command string) int64 {
	t.Helper()
	info := s.InfoMap(context.Background(), "commandstats").Item("Commandstats", "cmdstat_"+command)
	var calls int64
	_, _ = fmt.Sscanf(info, "calls=%d,", &calls)
	return calls
}

func TestBackoffSpent(t *testing.T) {
	eachServer(t, func(t *testing.T, s server) {
		b := newBackend(t, s.Client)
		if _, err := b.TryAcquire(t.Context(), request("k")); err != nil {
			t.Fatal(err)
		}
		for _, attempts := range []int{1, 3} {
			r := request("k")
			r.Backoff = driver.NewBackoff(10*time.Millisecond, attempts)
			_, err := b.Acquire(t.Context(), r)
			var held *driver.HeldError
			if !errors.As(err, &held) || held.RetryAfter <= 0 {
				t.Errorf("%d attempts: %v", attempts, err)
			}
			if err := b.Release(t.Context(), r.Grant()); !errors.Is(err, driver.ErrLost) {
				t.Errorf("release: %v", err)
			}
		}
		if n := s.Exists(t.Context(), "{k}:queue").Val(); n != 0 {
			t.Error("a queue is left")
		}
	})
}

func TestCancelWhileWaiting(t *testing.T) {
	eachServer(t, func(t *testing.T, s server) {
		b := newBackend(t, s.Client)
		if _, err := b.TryAcquire(t.Context(), request(lockKey)); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		r := request(lockKey)
		w := acquire(ctx, b, r)
		testkit.Eventually(t, "it has queued", func() bool { return s.ZCard(t.Context(), queueKey).Val() == 1 })

		// An owner that comes again keeps its place, and a release removes it.
		cancel()
		<-w.done
		if !errors.Is(w.err, context.Canceled) { // it may not know the holder yet
			t.Errorf("got %v", w.err)
		}
		ticket := s.ZScore(t.Context(), queueKey, b.Member(r.Owner)).Val()
		ctx, cancel = context.WithCancel(t.Context())
		w = acquire(ctx, b, r)
		testkit.Eventually(t, "it waits", func() bool { return b.Waiters() == 1 })
		if again := s.ZScore(t.Context(), queueKey, b.Member(r.Owner)).Val(); ticket == 0 || again != ticket {
			t.Errorf("the ticket was %f and is %f", ticket, again)
		}
		cancel()
		<-w.done
		if err := b.Release(t.Context(), r.Grant()); !errors.Is(err, driver.ErrLost) {
			t.Errorf("release: %v", err)
		}
		if n := s.Exists(t.Context(), queueKey).Val(); n != 0 {
			t.Error("a queue is left")
		}
		if n := b.InDoubt(); n != 0 {
			t.Errorf("%d owners in doubt", n)
		}
	})
}

// A thousand waiters are cancelled at once: none is left in the queue or in memory.
func TestManyCancelled(t *testing.T) {
	s := realServer(t)
	b := newBackend(t, s.Client, redislock.WithOpTimeout(10*time.Second))
	r := request(lockKey)
	r.TTL = time.Minute
	held, err := b.TryAcquire(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	for range 1000 {
		wg.Go(func() {
			r := request(lockKey)
			if _, err := b.Acquire(ctx, r); !errors.Is(err, context.Canceled) {
				t.Errorf("acquire: %v", err)
			}
			start := time.Now()
			err := b.Release(t.Context(), r.Grant())
			again := err == nil && time.Since(start) >= resend // of so many, one may be sent again
			if !again && !errors.Is(err, driver.ErrLost) {
				t.Errorf("release: %v", err)
			}
		})
	}
	testkit.Eventually(t, "all have queued", func() bool { return s.ZCard(t.Context(), queueKey).Val() == 1000 })
	cancel()
	wg.Wait()
	if n := s.Exists(t.Context(), queueKey).Val(); n != 0 {
		t.Error("a queue is left")
	}
	if n := b.InDoubt(); n != 0 {
		t.Errorf("%d owners in doubt", n)
	}
	if err := b.Release(t.Context(), held); err != nil {
		t.Errorf("release: %v", err)
	}
}

// A message is lost because the subscription is dead. The waiter asks as soon as there
// is a new subscription; its own poll is far away.
//
// Row 15 (redislock): a waiter asks at once when its subscription works again. Fails if
// a new subscription does not wake waiters.
func TestSubscriberKilled(t *testing.T) {
	t.Parallel()
	s := realServer(t)
	b := newBackend(t, s.Client)
	r := request(lockKey)
	r.TTL = time.Minute
	g, err := b.TryAcquire(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	r = request(lockKey)
	r.Backoff = driver.NewBackoff(time.Hour, 0)
	w := acquire(t.Context(), b, r)
	subscribed := func() bool {
		return s.PubSubNumSub(t.Context(), "distlock:inbox:"+b.Member("")[:36]).Val() != nil && s.inboxes(t) == 1
	}
	testkit.Eventually(t, "it listens", subscribed)

	for range 5 {
		if err := s.ClientKillByFilter(t.Context(), "TYPE", "pubsub").Err(); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, "it listens again", subscribed)
	}
	// Both at once: the message has no receiver.
	pipe := s.TxPipeline()
	pipe.ClientKillByFilter(t.Context(), "TYPE", "pubsub")
	keys := redislock.LockKeys(lockKey)
	pipe.Eval(t.Context(), redislock.ReleaseSource, append(keys[:], clockKey),
		"an inbox", "60000", redislock.DefaultInboxPrefix, g.Owner, "0", "")
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-w.done:
		if w.err != nil {
			t.Error(w.err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the waiter was not woken by the new subscription")
	}
}

// inboxes returns the number of inbox channels with a subscriber.
func (s server) inboxes(t testing.TB) int {
	t.Helper()
	return len(s.PubSubChannels(context.Background(), redislock.DefaultInboxPrefix+"*").Val())
}

func TestInboxIsLazyAndEndsWithClose(t *testing.T) {
	s := realServer(t)
	b := redislock.New(s.Client, unhurried)
	g, err := b.Acquire(t.Context(), request("k"))
	if err != nil {
		t.Fatal(err)
	}
	if n := s.inboxes(t); n != 0 {
		t.Errorf("%d inboxes before anybody has waited", n)
	}
	waiter := request("k")
	waiter.Backoff = driver.NewBackoff(100*time.Millisecond, 0)
	w := acquire(t.Context(), b, waiter)
	testkit.Eventually(t, "it listens", func() bool { return s.inboxes(t) == 1 })
	for range 2 {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	testkit.Eventually(t, "it has stopped to listen", func() bool { return s.inboxes(t) == 0 })

	// The Backend still works, by polling, and the client is open.
	r := request("k2")
	if _, err := b.TryAcquire(t.Context(), r); err != nil {
		t.Error(err)
	}
	if err := b.Release(t.Context(), g); err != nil {
		t.Error(err)
	}
	<-w.done
	if w.err != nil {
		t.Error(w.err)
	}
}

// A message that is older than the last refusal is of a grant that may have ended.
func TestOldMessageIsNotBelieved(t *testing.T) {
	eachServer(t, func(t *testing.T, s server) {
		b := newBackend(t, s.Client)
		g := must(b.TryAcquire(t.Context(), request(lockKey)))
		r := request(lockKey)
		r.Renews = true
		w := acquire(t.Context(), b, r)
		testkit.Eventually(t, "it waits and listens", func() bool { return s.ZCard(t.Context(), queueKey).Val() == 1 && s.inboxes(t) == 1 })
		channel := s.PubSubChannels(t.Context(), "*").Val()[0]
		noError(t, s.Publish(t.Context(), channel, fmt.Sprintf("%s 10000 %016d %016d 0", r.Owner, g.LastToken-1, g.LastToken)).Err())
		mustRelease(t, b, g)
		<-w.done
		if w.err != nil || w.grant.Token <= g.LastToken {
			t.Fatalf("token %d after %d, %v", w.grant.Token, g.LastToken, w.err)
		}
		mustRelease(t, b, w.grant)
	})
}
