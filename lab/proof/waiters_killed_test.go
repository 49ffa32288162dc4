package proof_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// Five processes with ten waiters each are cut off for ever, as if they were killed, while the key
// is held. The waiter behind them gets the key after one claim window for each process, however
// many waiters a process had.
//
// Row 3 (redislock): one claim window is lost for each dead process. Fails if a lock
// that is passed on is reserved for longer than the claim window.
func TestWaitersKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const processes, waiters, claimWindow = 5, 10, time.Second // the default of Config.ClaimWindow
		m := redistest.Virtual(t)
		open := func(o ...func(*redis.Options)) *distlock.Locker {
			return testkit.NewLocker(t, redislock.New(redistest.VirtualClient(t, m, o...), redislock.Config{}), distlock.Config{})
		}
		o := distlock.Opts{KeyTimeout: time.Minute}
		held := testkit.MustAcquire(t, open(), key, o)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		var dead []*spoilnet.Network
		for range processes {
			n := spoilnet.To(m.Dial)
			l := open(func(o *redis.Options) { o.Dialer = n.DialContext })
			for range waiters {
				all.Go(func() {
					if _, err := l.Acquire(ctx, key, o); err == nil {
						t.Error("a waiter that is cut off has the key")
					}
				})
			}
			time.Sleep(time.Second) // they are in the queue before the last waiter
			dead = append(dead, n)
		}
		next := testkit.StartAcquire(t, open(), key, o)
		time.Sleep(time.Second)
		for _, n := range dead {
			n.Hang(true)
		}
		released := time.Now()
		mustRelease(t, held)
		mustRelease(t, next.Served(t))
		if d := next.At.Sub(released); d < processes*claimWindow || d > (processes+1)*claimWindow {
			t.Errorf("served %v after the release, behind %d dead processes", d, processes)
		}
		cancel()
		all.Wait()
		for _, n := range dead {
			n.Hang(false)
			n.Kill()
		}
	})
}
