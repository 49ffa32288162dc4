package redislock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

const confirmation = 200 * time.Millisecond

// confirmed acquires until the replica confirms in time, which can take several
// attempts on a busy machine.
func confirmed(t *testing.T, b *redislock.Backend, r driver.Request) (g driver.Grant) {
	t.Helper()
	testkit.Eventually(t, "the replica confirms in time", func() (ok bool) {
		var err error
		g, err = b.TryAcquire(t.Context(), r)
		return err == nil
	})
	return g
}

// Row 5 (redislock): with WaitReplicas no lock has two holders after a failover: what the
// replica does not have was not granted. Fails if a lock counts with too few confirmations.
func TestWaitReplicas(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	s := realServer(t)
	copied := redistest.StartReplica(t, s.real)
	online := func() bool {
		s.Set(t.Context(), "beat", "x", 0)
		return copied.Client(t).Get(t.Context(), "beat").Val() == "x" && s.Del(t.Context(), "beat").Val() == 1
	}

	// The user's own timeout is shorter than the wait.
	c := s.real.Client(t, func(o *redis.Options) { o.ReadTimeout = confirmation / 4 })
	b := newBackend(t, c, redislock.Config{WaitReplicas: 1, WaitReplicasTimeout: confirmation})
	for name, ask := range modes {
		t.Run(name, func(t *testing.T) {
			s.ScriptFlush(t.Context())
			g := confirmed(t, b, ask(lockKey))
			if n := copied.Client(t).Exists(t.Context(), lockKey).Val(); n != 1 {
				t.Error("the replica does not have the lock")
			}
			mustRelease(t, b, g)

			copied.Stop()
			cut := ask(lockKey)
			for range 2 {
				start := time.Now()
				_, err := b.TryAcquire(t.Context(), cut)
				if d := time.Since(start); err == nil || errors.Is(err, driver.ErrNotAcquired) || d < confirmation {
					t.Errorf("without the replica: %v after %v", err, d)
				}
			}
			copied.Cont()
			testkit.Eventually(t, "the replica is there again", online)

			// The owner still has it, and may ask again.
			if again := confirmed(t, b, cut); again.Token <= g.LastToken {
				t.Errorf("token %d after %d", again.Token, g.LastToken)
			}
			mustRelease(t, b, cut.Grant())
			if n := s.Exists(t.Context(), lockKey).Val(); n != 0 {
				t.Error("the lock is left")
			}
		})
	}
}

// In a Cluster the server of the key is asked, which has no replica here.
func TestWaitReplicasCluster(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	nodes := redistest.StartCluster(t, 2)
	b := newBackend(t, redistest.ClusterClient(t, nodes), redislock.Config{WaitReplicas: 1, WaitReplicasTimeout: 20 * time.Millisecond})
	for _, key := range []string{"a", "b", "c", "d"} {
		r := request(key)
		if _, err := b.TryAcquire(t.Context(), r); err == nil || errors.Is(err, driver.ErrNotAcquired) {
			t.Errorf("%s: %v", key, err)
		}
		asked := 0
		for _, n := range nodes {
			c := server{Client: n.Client(t), real: n}
			if waits := c.commandCalls(t, "wait"); waits > 0 {
				asked++
				if c.Exists(t.Context(), key).Val() != 1 {
					t.Errorf("%s: another server was asked", key)
				}
			}
			c.ConfigResetStat(t.Context())
		}
		if asked != 1 {
			t.Errorf("%s: %d servers were asked", key, asked)
		}
		mustRelease(t, b, r.Grant())
	}
}
