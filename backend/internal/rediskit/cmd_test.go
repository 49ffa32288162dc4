package rediskit_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// fake is a server that counts the scripts that it gets, and knows no other commands
// than AUTH.
type fake struct {
	*server.Server
	scripts atomic.Int32
}

// newFake starts a server that answers each script with answer.
func newFake(tb testing.TB, answer func(c *server.Peer, name string)) *fake {
	tb.Helper()
	testmode.InRealTime(tb) // over a socket, and the clients wait for 50ms
	s, err := server.NewServer("127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	f := &fake{Server: s}
	if err := s.Register("AUTH", func(c *server.Peer, _ string, _ []string) { c.WriteOK() }); err != nil {
		tb.Fatal(err)
	}
	for _, name := range []string{"EVALSHA", "EVAL"} {
		if err := s.Register(name, func(c *server.Peer, name string, _ []string) {
			f.scripts.Add(1)
			answer(c, name)
		}); err != nil {
			tb.Fatal(err)
		}
	}
	return f
}

func (f *fake) addr() string { return f.Server.Addr().String() }

// The ways not to answer.
func silent(*server.Peer, string)       {}
func hangUp(c *server.Peer, _ string)   { c.Close() }
func answerOK(c *server.Peer, _ string) { c.WriteOK() }
func loading(c *server.Peer, _ string) {
	c.WriteError("LOADING Redis is loading the dataset in memory")
}
func tryAgain(c *server.Peer, _ string) {
	c.WriteError("TRYAGAIN Multiple keys request during rehashing of slot")
}
func noReplicas(c *server.Peer, _ string) {
	c.WriteError("NOREPLICAS Not enough good replicas to write.")
}

// eager are clients that repeat often and without a pause.
var eager = map[string]func(addr string) redis.UniversalClient{
	"Client": func(addr string) redis.UniversalClient {
		return redis.NewClient(&redis.Options{
			Addr: addr, DialerRetries: 1, MaxRetries: 5, MinRetryBackoff: -1, MaxRetryBackoff: -1, ReadTimeout: 50 * time.Millisecond, Password: "pw",
		})
	},
	"ClusterClient": func(addr string) redis.UniversalClient {
		return redis.NewClusterClient(&redis.ClusterOptions{
			DialerRetries: 1, MaxRetries: 5, MaxRedirects: 5, MinRetryBackoff: -1, MaxRetryBackoff: -1, ReadTimeout: 50 * time.Millisecond, Password: "pw",
			ClusterSlots: slotsAt(addr),
		})
	},
	"Ring": func(addr string) redis.UniversalClient {
		return redis.NewRing(&redis.RingOptions{
			Addrs: map[string]string{"shard": addr}, HeartbeatFn: func(context.Context, *redis.Client) bool { return true },
			DialerRetries: 1, MaxRetries: 5, MinRetryBackoff: -1, MaxRetryBackoff: -1, ReadTimeout: 50 * time.Millisecond, Password: "pw",
		})
	},
}

// slotsAt says that all slots are at the address.
func slotsAt(addr string) func(context.Context) ([]redis.ClusterSlot, error) {
	return func(context.Context) ([]redis.ClusterSlot, error) {
		return []redis.ClusterSlot{{Start: 0, End: 16383, Nodes: []redis.ClusterNode{{Addr: addr}}}}, nil
	}
}

func newCmd(ctx context.Context) *rediskit.Cmd {
	return rediskit.NewCmd(ctx, "evalsha", "hash", 1, "key")
}

// plainCmd is the same command as one that go-redis repeats.
func plainCmd(ctx context.Context) *redis.Cmd {
	c := redis.NewCmd(ctx, "evalsha", "hash", 1, "key")
	c.SetFirstKeyPos(3)
	return c
}

// A script is sent once, alone and in a pipeline, where one Cmd is enough to keep all
// commands from being repeated. The same commands without Cmd are repeated: the servers
// and clients of this test are such that go-redis repeats.
func TestCmdIsSentOnce(t *testing.T) {
	t.Parallel()
	answers := map[string]func(*server.Peer, string){
		"silent": silent, "hangUp": hangUp, "loading": loading, "tryAgain": tryAgain, "noReplicas": noReplicas,
	}
	for clientName, newClient := range eager {
		for answerName, answer := range answers {
			send := func(t *testing.T, cmds ...redis.Cmder) int {
				t.Helper()
				f := newFake(t, answer)
				c := newClient(f.addr())
				if len(cmds) == 1 {
					_ = c.Process(t.Context(), cmds[0])
				} else {
					pipe := c.Pipeline()
					for _, cmd := range cmds {
						_ = pipe.Process(t.Context(), cmd)
					}
					rediskit.Exec(t.Context(), pipe)
				}
				_ = c.Close()
				f.Close()
				return int(f.scripts.Load())
			}
			t.Run(clientName+"/"+answerName, func(t *testing.T) {
				t.Parallel()
				ctx := t.Context()
				if n := send(t, plainCmd(ctx)); n < 2 {
					t.Errorf("go-redis did not repeat: %d", n)
				}
				if n := send(t, plainCmd(ctx), plainCmd(ctx)); n < 3 && clientName != "Ring" {
					t.Errorf("go-redis did not repeat the pipeline: %d", n)
				}
				alone := newCmd(ctx)
				if n := send(t, alone); n != 1 || alone.Sent() != 1 {
					t.Errorf("alone: %d, and Sent is %d", n, alone.Sent())
				}
				first, last := newCmd(ctx), newCmd(ctx)
				for _, cmds := range [][]redis.Cmder{{first, plainCmd(ctx)}, {plainCmd(ctx), last}} {
					if n := send(t, cmds...); n != 2 {
						t.Errorf("in a pipeline of 2: %d", n)
					}
				}
				wantFate := rediskit.Replied
				if answerName == "silent" || answerName == "hangUp" {
					wantFate = rediskit.Unknown
				}
				for i, cmd := range []*rediskit.Cmd{alone, first, last} {
					if cmd.Err() == nil || rediskit.FateOf(cmd.Err()) != wantFate {
						t.Errorf("command %d: fate %v instead of %v, error %v", i, rediskit.FateOf(cmd.Err()), wantFate, cmd.Err())
					}
				}
			})
		}
	}
}

// A command that was not written to any connection is known to have no effect.
func TestCmdNotSent(t *testing.T) {
	t.Parallel()
	refuse := func(c *server.Peer, _ string, _ ...string) bool {
		c.WriteError("WRONGPASS invalid username-password pair or user is disabled.")
		return true
	}
	for clientName, newClient := range eager {
		t.Run(clientName, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, answerOK)
			f.SetPreHook(refuse)
			clients := map[string]redis.UniversalClient{"refused": newClient(f.addr()), "closed": newClient(f.addr())}
			unreachable := newFake(t, answerOK)
			clients["unreachable"] = newClient(unreachable.addr())
			unreachable.Close()
			_ = clients["closed"].Close()
			over, cancel := context.WithCancel(t.Context())
			cancel()
			clients["context"] = newClient(newFake(t, answerOK).addr())
			for name, c := range clients {
				ctx := t.Context()
				if name == "context" {
					ctx = over
				}
				cmd := newCmd(ctx)
				_ = c.Process(ctx, cmd)
				a, b := newCmd(ctx), newCmd(ctx)
				pipe := c.Pipeline()
				_ = pipe.Process(ctx, a)
				_ = pipe.Process(ctx, b)
				rediskit.Exec(ctx, pipe)
				for _, cmd := range []*rediskit.Cmd{cmd, a, b} {
					if cmd.Err() == nil || cmd.Sent() != 0 || rediskit.FateOf(cmd.Err()) != rediskit.NotSent {
						t.Errorf("%s: sent %d times, fate %v, error %v", name, cmd.Sent(), rediskit.FateOf(cmd.Err()), cmd.Err())
					}
				}
				_ = c.Close()
			}
			if n := f.scripts.Load(); n != 0 {
				t.Errorf("the server that refuses got %d scripts", n)
			}
		})
	}
}

// A Cluster's redirections are followed: they say that the script did not run.
func TestCmdFollowsRedirections(t *testing.T) {
	for _, redirection := range []string{"MOVED", "ASK"} {
		target := newFake(t, answerOK)
		if err := target.Register("ASKING", func(c *server.Peer, _ string, _ []string) { c.WriteOK() }); err != nil {
			t.Fatal(err)
		}
		source := newFake(t, func(c *server.Peer, _ string) {
			c.WriteError(fmt.Sprintf("%s 12539 %s", redirection, target.addr()))
		})
		c := eager["ClusterClient"](source.addr())
		t.Cleanup(func() { _ = c.Close() })
		cmd := newCmd(t.Context())
		_ = c.Process(t.Context(), cmd)
		a, b := newCmd(t.Context()), newCmd(t.Context())
		pipe := c.Pipeline()
		_ = pipe.Process(t.Context(), a)
		_ = pipe.Process(t.Context(), b)
		rediskit.Exec(t.Context(), pipe)
		for _, cmd := range []*rediskit.Cmd{cmd, a, b} {
			if text, err := cmd.Text(); text != "OK" || err != nil || cmd.Sent() != 2 {
				t.Errorf("%s: %q, %v, sent %d times instead of 2", redirection, text, err, cmd.Sent())
			}
		}
		if s, n := source.scripts.Load(), target.scripts.Load(); s != 3 || n != 3 {
			t.Errorf("%s: %d and %d scripts instead of 3 and 3", redirection, s, n)
		}
	}
}
