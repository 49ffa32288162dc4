package redislock_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	mini "github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// scripted is a Backend on a simulated server. The test answers commands in the place
// of the server, or lets the server answer.
type scripted struct {
	*redislock.Backend
	sent   atomic.Int32 // scripts, since the last call of on
	answer atomic.Pointer[func(n int32, c *mini.Peer, cmd string) bool]
	other  *redislock.Backend // with a client of its own
}

// inBubble runs test in a bubble. A Ring is a client that finds the server of a key.
func inBubble(t *testing.T, ring bool, test func(t *testing.T, s *scripted), cfg ...redislock.Config) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := redistest.Virtual(t)
		dial := func() *redis.Client { return redistest.VirtualClient(t, m) }
		var c redis.UniversalClient = dial()
		if ring {
			r := redis.NewRing(&redis.RingOptions{
				Addrs: map[string]string{"1": "127.0.0.1:1"}, HeartbeatFrequency: time.Hour,
				NewClient: func(*redis.Options) *redis.Client { return dial() },
			})
			t.Cleanup(func() { _ = r.Close() })
			c = r
		}
		s := &scripted{Backend: newBackend(t, c, cfg...), other: newBackend(t, dial())}
		mustRelease(t, s.other, mustTry(t, s.other, request("warm"))) // the server has the scripts
		m.Server().SetPreHook(func(c *mini.Peer, cmd string, _ ...string) bool {
			n := s.sent.Load()
			if strings.HasPrefix(cmd, "EVAL") {
				n = s.sent.Add(1)
			}
			f := s.answer.Load()
			return f != nil && (*f)(n, c, cmd)
		})
		test(t, s)
		s.answer.Store(nil)
	})
}

// on sets what answers: f gets the number of the last script, from 1 on.
func (s *scripted) on(f func(n int32, c *mini.Peer, cmd string) bool) {
	s.sent.Store(0)
	s.answer.Store(&f)
}

// confirming answers WAIT with n replicas.
func confirming(c *mini.Peer, cmd string, n int) bool {
	if cmd == "WAIT" {
		c.WriteInt(n)
	}
	return cmd == "WAIT"
}

var oneReplica = redislock.Config{WaitReplicas: 1, WaitReplicasTimeout: 100 * time.Millisecond}

// A message that grants a key says nothing about replicas: the key is acquired, and
// they are asked.
func TestMessageIsNoConfirmation(t *testing.T) {
	inBubble(t, false, func(t *testing.T, s *scripted) {
		var confirmed atomic.Int32
		s.on(func(_ int32, c *mini.Peer, cmd string) bool { return confirming(c, cmd, int(confirmed.Load())) })
		held := mustTry(t, s.other, request(lockKey))
		r := request(lockKey)
		r.Renews = true
		w := testkit.StartWaiter(t, s.Backend, r)
		synctest.Wait()
		mustRelease(t, s.other, held)
		<-w.Done
		if w.Err == nil {
			t.Error("it was granted without a confirmation")
		}
		confirmed.Store(1)
		if g, err := s.Enqueue(t.Context(), r); err != nil || !g.Until.IsZero() {
			t.Errorf("with a confirmation: %v, until %v", err, g.Until)
		}
		mustRelease(t, s.Backend, r.Grant())
	}, oneReplica)
}

// The WAIT behind a script that was redirected says nothing about it: the script is sent again,
// with a WAIT.
func TestRedirectIsNoConfirmation(t *testing.T) {
	inBubble(t, true, func(t *testing.T, s *scripted) {
		waits := 0
		s.on(func(n int32, c *mini.Peer, cmd string) bool {
			if cmd == "WAIT" {
				waits++
			}
			if n == 1 && strings.HasPrefix(cmd, "EVAL") {
				c.WriteError("MOVED 1 127.0.0.1:0")
				return true
			}
			return confirming(c, cmd, 1)
		})
		r := request(lockKey)
		if _, err := s.TryAcquire(t.Context(), r); err != nil || s.sent.Load() != 2 || waits != 2 {
			t.Errorf("%v after %d scripts and %d WAIT", err, s.sent.Load(), waits)
		}
		mustRelease(t, s.Backend, r.Grant())
	}, oneReplica)
}

// With replicas an attempt is not repeated by the Backend: the second copy would be
// answered, and the first one may come to a server later that has no replica.
func TestSentOnceForReplicas(t *testing.T) {
	inBubble(t, false, func(t *testing.T, s *scripted) {
		s.on(func(n int32, c *mini.Peer, cmd string) bool {
			if n == 1 && strings.HasPrefix(cmd, "EVAL") {
				c.Close()
				return true
			}
			return confirming(c, cmd, 1)
		})
		r := request(lockKey)
		if _, err := s.Enqueue(t.Context(), r); err == nil || s.sent.Load() != 1 || s.InDoubt() != 1 {
			t.Errorf("%v after %d scripts, %d owners in doubt", err, s.sent.Load(), s.InDoubt())
		}
		mustRelease(t, s.Backend, r.Grant())
	}, oneReplica)
}

// An attempt is lost with its connection, and its repetition is redirected for a while.
// The answer in the end does not end the doubt about the first copy.
func TestRedirectKeepsTheDoubt(t *testing.T) {
	inBubble(t, true, func(t *testing.T, s *scripted) {
		s.on(func(n int32, c *mini.Peer, cmd string) bool {
			switch {
			case !strings.HasPrefix(cmd, "EVAL") || n > 3:
				return false
			case n == 1:
				c.Close()
			default:
				c.WriteError("TRYAGAIN the slot moves")
			}
			return true
		})
		r := request(lockKey)
		g, err := s.Enqueue(t.Context(), r)
		if err != nil || s.sent.Load() != 4 || s.InDoubt() != 1 {
			t.Errorf("%v after %d scripts, %d owners in doubt", err, s.sent.Load(), s.InDoubt())
		}
		mustRelease(t, s.Backend, g)
	})
}

// The reply is not one of the script. The server may have carried out the attempt, so
// it is in doubt, and it is not taken for a refusal.
func TestReplyOfAnotherForm(t *testing.T) {
	for name, text := range map[string]string{
		"status": "9 1 2", "grant": "1 7 6 0", "refusal": "0 x 1", "more lines": "0 10 1\n0 10 1", "empty": "",
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, false, func(t *testing.T, s *scripted) {
				s.on(func(_ int32, c *mini.Peer, cmd string) bool {
					if strings.HasPrefix(cmd, "EVAL") {
						c.WriteBulk(text)
					}
					return strings.HasPrefix(cmd, "EVAL")
				})
				r := request(lockKey)
				if _, err := s.TryAcquire(t.Context(), r); err == nil || errors.Is(err, driver.ErrNotAcquired) || s.InDoubt() != 1 {
					t.Errorf("%q: %v, %d owners in doubt", text, err, s.InDoubt())
				}
				s.answer.Store(nil)
				mustRelease(t, s.Backend, r.Grant())
			})
		})
	}
}
