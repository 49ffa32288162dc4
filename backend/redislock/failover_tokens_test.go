package redislock_test

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// failoversEnv is the environment variable with the number of failovers of each kind.
const failoversEnv = "DISTLOCK_TEST_FAILOVERS"

// busy has callers that lock a key each, so often that their attempts are plain.
type busy struct {
	leases, back, failed atomic.Int64
	stopping             atomic.Bool
	callers              sync.WaitGroup
}

func startBusy(t *testing.T, c *redis.Client) *busy {
	t.Helper()
	l := distlock.New(redislock.New(c, redislock.Config{}), distlock.Config{HandOverTime: -1})
	b := new(busy)
	t.Cleanup(func() { b.stop(); _ = l.Close() })
	for i := range 2 {
		b.callers.Go(func() {
			b.lock(context.Background(), l, fmt.Sprint("item", i))
		})
	}
	return b
}

func (b *busy) lock(ctx context.Context, l *distlock.Locker, key string) {
	pause := time.NewTicker(2 * time.Millisecond)
	defer pause.Stop()
	for latest := uint64(0); !b.stopping.Load(); <-pause.C {
		lease, err := l.Acquire(ctx, key, distlock.Opts{KeyTimeout: time.Second, MaxWait: 3 * time.Second, Fencing: true})
		if err != nil {
			b.failed.Add(1)
			continue
		}
		b.leases.Add(1)
		if lease.Token() <= latest {
			b.back.Add(1)
		}
		latest = max(latest, lease.Token())
		_ = lease.Release(ctx) // during a failover it may be lost
	}
}

func (b *busy) stop() {
	b.stopping.Store(true)
	b.callers.Wait()
}

// goOn waits for n more leases.
func (b *busy) goOn(t *testing.T, n int64) {
	t.Helper()
	more := b.leases.Load() + n
	testkit.Eventually(t, "there are more leases", func() bool { return b.leases.Load() >= more })
}

var increments = regexp.MustCompile(`cmdstat_incrby:calls=(\d+)`)

// plainAttempts returns how many plain attempts the servers have had.
func plainAttempts(t *testing.T, servers ...*redistest.Server) (n int) {
	t.Helper()
	for _, s := range servers {
		if m := increments.FindStringSubmatch(s.Client(t).Info(t.Context(), "commandstats").Val()); m != nil {
			calls, _ := strconv.Atoi(m[1])
			n += calls
		}
	}
	return n
}

// A replica that lacks the last tokens takes over again and again, while a program
// locks with plain attempts. Its connections lead to the new master because they are
// replaced by age, as with Sentinel; because they are cut; or because the old master
// has become a replica. Or the real Sentinels decide. Often both masters serve for a
// while.
//
// Row 5 (redislock): tokens rise over failovers, those of plain attempts, too. Fails if
// a plain attempt relies on the clock of another server.
func TestTokensOverFailovers(t *testing.T) {
	testmode.Long(t)
	rounds, err := strconv.Atoi(cmp.Or(os.Getenv(failoversEnv), "2"))
	noError(t, err)
	report := func(t *testing.T, b *busy, servers ...*redistest.Server) {
		t.Helper()
		b.stop()
		plain := plainAttempts(t, servers...)
		t.Logf("%d failovers, %d leases, %d attempts that failed, %d plain attempts, tokens back %d",
			rounds, b.leases.Load(), b.failed.Load(), plain, b.back.Load())
		if b.back.Load() > 0 || plain < 10*rounds {
			t.Errorf("tokens went back or were repeated %d times, with %d plain attempts", b.back.Load(), plain)
		}
	}
	for _, kind := range []string{"replaced by age", "cut", "demoted"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			master := redistest.Start(t)
			replica := redistest.StartReplica(t, master)
			var at atomic.Pointer[redistest.Server]
			at.Store(master)
			n := spoilnet.To(func() (net.Conn, error) { return net.Dial("tcp", at.Load().Addr()) })
			o := &redis.Options{Addr: "any", Dialer: n.DialContext}
			if kind == "replaced by age" {
				o.Addr = "FailoverClient" // as go-redis calls the address of a client that asks Sentinels
			}
			c := redis.NewClient(o)
			t.Cleanup(func() { _ = c.Close() })
			b := startBusy(t, c)
			for range rounds {
				b.goOn(t, 100)
				replica.Promote(t, master)
				<-time.After(300 * time.Millisecond) // both are masters
				last := replica.Client(t).Get(t.Context(), clockKey).Val()
				at.Store(replica)
				switch kind {
				case "cut":
					n.Kill()
				case "demoted":
					master.Follow(t, replica)
				}
				testkit.Eventually(t, "the replica grants locks", func() bool { return replica.Client(t).Get(t.Context(), clockKey).Val() != last })
				b.goOn(t, 100)
				master.Follow(t, replica)
				master, replica = replica, master
			}
			report(t, b, master, replica)
		})
	}
	t.Run("Sentinel", func(t *testing.T) {
		t.Parallel()
		s := redistest.StartSentinels(t)
		b := startBusy(t, s.Client(t))
		for range rounds {
			b.goOn(t, 100)
			s.Failover(t)
			testkit.Eventually(t, "the roles are changed", func() bool { return s.Replica.IsMaster(t) && !s.Master.IsMaster(t) })
			s.Master, s.Replica = s.Replica, s.Master
			b.goOn(t, 100)
		}
		report(t, b, s.Master, s.Replica)
	})
}
