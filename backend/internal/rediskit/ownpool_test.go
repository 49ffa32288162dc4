package rediskit_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/internal/background"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// newEcho returns a command that returns its key.
func newEcho(ctx context.Context, key string) *rediskit.Cmd {
	return rediskit.NewCmd(ctx, "eval", "return KEYS[1]", 1, key)
}

// echo runs newEcho alone.
func echo(ctx context.Context, c redis.UniversalClient, key string) *rediskit.Cmd {
	cmd := newEcho(ctx, key)
	_ = c.Process(ctx, cmd) // the command has the error, too
	return cmd
}

// mustEcho runs the script alone and in a pipeline.
func mustEcho(tb testing.TB, c redis.UniversalClient) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	if text, err := echo(ctx, c, "k").Text(); text != "k" || err != nil {
		tb.Errorf("alone: %q, %v", text, err)
	}
	pipe := c.Pipeline()
	a, b := newEcho(ctx, "a"), newEcho(ctx, "b")
	_ = pipe.Process(ctx, a)
	_ = pipe.Process(ctx, b)
	rediskit.Exec(ctx, pipe)
	if a.Val() != "a" || b.Val() != "b" || a.Sent() != 1 || b.Sent() != 1 {
		tb.Errorf("in a pipeline: %v and %v, sent %d and %d times", a, b, a.Sent(), b.Sent())
	}
}

func newOwnPool(tb testing.TB, c redis.UniversalClient) *rediskit.OwnPool {
	tb.Helper()
	p := rediskit.NewOwnPool(c, 4, 2*time.Second)
	tb.Cleanup(func() { _ = p.Close() })
	return p
}

const clientName = "shop"

func named(o *redis.Options) { o.ClientName = clientName }

// connections returns the server's connections with that name.
func connections(tb testing.TB, s *redistest.Server) (conns []string) {
	tb.Helper()
	admin := s.Client(tb)
	defer admin.Close()
	for line := range strings.Lines(admin.ClientList(tb.Context()).Val()) {
		if strings.Contains(line, " name="+clientName+" ") {
			conns = append(conns, line)
		}
	}
	return conns
}

// If no connection can be made, commands go through the client of the user. So they do
// after Close.
func TestOwnPoolFallsBack(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	for name, dial := range map[string]func(context.Context) error{
		"refused": func(context.Context) error { return errors.New("no more connections") },
		"hung": func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		},
		"closed": nil,
	} {
		t.Run(name, func(t *testing.T) {
			c := s.Client(t, named, func(o *redis.Options) {
				first := true
				dialer := net.Dialer{}
				o.PoolSize, o.PipelinePoolSize = 1, -1
				o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
					if !first && dial != nil {
						return nil, dial(ctx)
					}
					first = false
					return dialer.DialContext(ctx, network, addr)
				}
			})
			if err := c.Ping(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			p := newOwnPool(t, c)
			if dial == nil {
				mustEcho(t, p.Client())
				if l := connections(t, s); len(l) != 2 {
					t.Errorf("before Close: %q", l)
				}
				if err := p.Close(); err != nil { // once more when the test ends
					t.Error(err)
				}
				testkit.Eventually(t, "the connection is closed", func() bool { return len(connections(t, s)) == 1 })
			}
			mustEcho(t, p.Client())
			if l := connections(t, s); len(l) != 1 {
				t.Errorf("%q", l)
			}
		})
	}
}

// A command that the client of the user has sent may have taken effect, although the
// pool has not sent it.
func TestOwnPoolDoubt(t *testing.T) {
	f := newFake(t, hangUp)
	first := true
	c := redis.NewClient(&redis.Options{
		Addr: f.addr(), PoolSize: 1, PipelinePoolSize: -1,
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if !first {
				return nil, errors.New("no more connections")
			}
			first = false
			return new(net.Dialer).DialContext(ctx, network, addr)
		},
	})
	defer c.Close()
	if err := c.Do(t.Context(), "auth", "pw").Err(); err != nil {
		t.Fatal(err)
	}
	pipe := newOwnPool(t, c).Client().Pipeline()
	cmds := []*rediskit.Cmd{newCmd(t.Context()), newCmd(t.Context())}
	for _, cmd := range cmds {
		_ = pipe.Process(t.Context(), cmd)
	}
	rediskit.Exec(t.Context(), pipe)
	for _, cmd := range cmds {
		if cmd.Err() == nil || rediskit.FateOf(cmd.Err()) != rediskit.Unknown || cmd.Sent() != 1 {
			t.Errorf("fate %v, sent %d times: %v", rediskit.FateOf(cmd.Err()), cmd.Sent(), cmd)
		}
	}
}

// Without a Cluster nobody redirects: the function that tells the slots is asked again.
func TestOwnPoolSlotsFunction(t *testing.T) {
	t.Parallel()
	before, after := newFake(t, answerOK), newFake(t, answerOK)
	var at atomic.Pointer[fake]
	at.Store(before)
	c := redis.NewClusterClient(&redis.ClusterOptions{ClusterSlots: func(ctx context.Context) ([]redis.ClusterSlot, error) {
		return slotsAt(at.Load().addr())(ctx)
	}})
	defer c.Close()
	own := newOwnPool(t, c).Client()
	if err := own.Process(t.Context(), newCmd(t.Context())); err != nil || before.scripts.Load() != 1 {
		t.Errorf("%v, %d scripts", err, before.scripts.Load())
	}
	at.Store(after)
	testkit.Eventually(t, "the other server gets scripts", func() bool {
		_ = own.Process(t.Context(), newCmd(t.Context()))
		return after.scripts.Load() > 0
	})
}

// The pool follows the master of the Sentinels: when the old one closes its
// connections, and also when the Sentinels cannot reach it and it stays alive.
func TestOwnPoolSentinel(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinels(t)
	c := s.Client(t, func(o *redis.FailoverOptions) { o.PoolSize = 1 })
	own := newOwnPool(t, c).Client()
	who := func() string {
		cmd := rediskit.NewCmd(t.Context(), "eval", "return string.match(redis.call('INFO', 'server'), 'tcp_port:(%d+)')", 0)
		_ = own.Process(t.Context(), cmd)
		text, _ := cmd.Text()
		return "127.0.0.1:" + text
	}
	testkit.Eventually(t, "the master answers", func() bool { return who() == s.Master.Addr() })
	s.Failover(t)
	testkit.Eventually(t, "the new master answers", func() bool { return who() == s.Replica.Addr() })

	host, port, _ := strings.Cut(s.Master.Addr(), ":")
	for _, w := range s.Watchers {
		sentinel := w.Client(t)
		if err := sentinel.Do(t.Context(), "sentinel", "remove", redistest.MasterName).Err(); err != nil {
			t.Fatal(err)
		}
		if err := sentinel.Do(t.Context(), "sentinel", "monitor", redistest.MasterName, host, port, 2).Err(); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Eventually(t, "the other server is asked", func() bool { return who() == s.Master.Addr() })
}

// A pool has no connection before the first use, and never more than its size. If all die without
// a word, the one that was used first speaks for all, and a command without time for another goes
// through the client of the user. Closing the pool ends the making of connections.
func TestOwnPoolConnectionsDie(t *testing.T) {
	const timeout = time.Minute
	for name, patience := range map[string]time.Duration{"time": timeout, "little time": timeout / 3} {
		testkit.InBubble(t, name, func(t *testing.T) {
			var hung atomic.Bool
			m := redistest.Virtual(t)
			m.Server().SetPreHook(func(*server.Peer, string, ...string) bool { time.Sleep(time.Millisecond); return false })
			n := spoilnet.To(m.Dial)
			user := redis.NewClient(&redis.Options{Addr: "127.0.0.1:0", Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
				if hung.Load() {
					<-ctx.Done()
					return nil, ctx.Err()
				}
				return n.DialContext(ctx, network, addr)
			}})
			p := rediskit.NewOwnPool(user, 4, timeout)
			c, before := p.Client(), n.Open()
			var all sync.WaitGroup
			for range 40 {
				all.Go(func() { _ = echo(t.Context(), c, "k") })
			}
			if all.Wait(); before != 0 || n.Open() != 4 {
				t.Errorf("%d connections before the first use, and %d", before, n.Open())
			}
			var conns []*redis.Conn
			for range 4 {
				c := c.(*redis.Client).Conn()
				_ = c.Ping(t.Context())
				conns = append(conns, c)
			}
			for _, c := range slices.Backward(conns) {
				_ = c.Close()
			}
			n.Cut()
			time.Sleep(2 * time.Second)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			start := time.Now()
			if text, err := echo(ctx, c, "k").Text(); text != "k" || time.Since(start) > timeout/3 {
				t.Errorf("%q, %v after %v", text, err, time.Since(start))
			}
			hung.Store(true)
			n.Kill()
			if cmd := echo(ctx, c, "k"); rediskit.FateOf(cmd.Err()) != rediskit.NotSent {
				t.Errorf("%v", cmd)
			}
			_ = p.Close()
			_ = user.Close()
			time.Sleep(time.Hour) // user tries again until its own limits
		})
	}
}

// All connections die at once without a word: those to the master, and more to the
// Sentinel than a client tries one after the other. A command succeeds before it would
// go through the client of the user, and so does one after a second such fault. What
// comes late is closed.
func TestOwnPoolSentinelConnectionsDie(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, sentinel := redistest.Virtual(t), redistest.Virtual(t)
		var busy, slow atomic.Bool
		if err := sentinel.Server().Register("SENTINEL", func(c *server.Peer, _ string, args []string) {
			if busy.Load() { // so that clients ask on several connections
				time.Sleep(time.Millisecond)
			}
			if args[0] == "sentinels" {
				c.WriteLen(0)
				return
			}
			c.WriteStrings([]string{"master", "6379"})
		}); err != nil {
			t.Fatal(err)
		}
		m.Server().SetPreHook(func(*server.Peer, string, ...string) bool {
			if busy.Load() { // so that no caller has the connection of another
				time.Sleep(time.Millisecond)
			}
			return false
		})
		nets := map[string]*spoilnet.Network{"master:6379": spoilnet.To(m.Dial), "sentinel:26379": spoilnet.To(sentinel.Dial)}
		user := redis.NewFailoverClient(&redis.FailoverOptions{
			MasterName: redistest.MasterName, SentinelAddrs: []string{"sentinel:26379"},
			Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
				if slow.Load() && addr == "master:6379" {
					time.Sleep(5 * time.Second)
				}
				return nets[addr].DialContext(ctx, network, addr)
			},
		})
		const timeout = 500 * time.Millisecond
		p := rediskit.NewOwnPool(user, 8, timeout)
		use := func(c redis.UniversalClient) {
			_ = c.Ping(t.Context()) // one selects the Sentinel
			busy.Store(true)
			defer busy.Store(false)
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					if text, err := echo(t.Context(), c, "k").Text(); text != "k" {
						t.Errorf("%q, %v", text, err)
					}
				})
			}
			all.Wait()
		}
		use(user)
		for range 2 {
			use(p.Client())
			if n := nets["sentinel:26379"].Open(); n <= 4 {
				t.Errorf("%d connections to the Sentinel", n)
			}
			for _, n := range nets {
				n.Cut()
			}
			time.Sleep(2 * time.Second)
			start := time.Now()
			if text, err := echo(t.Context(), p.Client(), "k").Text(); text != "k" {
				t.Errorf("%q, %v", text, err)
			}
			if d := time.Since(start); d >= timeout/2 {
				t.Errorf("it took %v", d)
			}
		}
		slow.Store(true)
		time.Sleep(2 * time.Second)
		_ = echo(t.Context(), p.Client(), "k") // asks in the background
		_ = p.Close()
		_ = user.Close()
		time.Sleep(time.Minute)
		for addr, n := range nets {
			if open := n.Open(); open != 0 {
				t.Errorf("%d connections to %s are open", open, addr)
			}
		}
	})
}

// A panic of a function for a new connection is an error, and uses up no place in the pool.
// The function may block, so Short makes no connection then.
func TestVirtualPanics(t *testing.T) {
	for name, give := range map[string]func(*redis.Options, func()){
		"OnConnect": func(o *redis.Options, bad func()) {
			o.OnConnect = func(context.Context, *redis.Conn) error { bad(); return nil }
		},
		"CredentialsProvider": func(o *redis.Options, bad func()) {
			o.CredentialsProvider = func() (string, string) { bad(); return "", "" }
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			var healed atomic.Bool
			p := newOwnPool(t, redistest.VirtualClient(t, redistest.Virtual(t), func(o *redis.Options) {
				give(o, func() {
					if !healed.Load() {
						panic("by the user")
					}
				})
			}))
			for range 20 {
				for want, c := range map[string]redis.UniversalClient{"not made here": p.Short(time.Second), "has panicked: by the user": p.Client()} {
					if err := echo(t.Context(), c, "k").Err(); err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("%s: %v, want: %s", name, err, want)
					}
				}
			}
			healed.Store(true)
			if err := echo(t.Context(), p.Client(), "k").Err(); err != nil || p.Client().(*redis.Client).PoolStats().TotalConns != 1 {
				t.Errorf("%s: afterwards: %v", name, err)
			}
		})
	}
}

// A panic in a hook or a Dialer of the user ends neither the process nor what runs in the
// background.
func TestVirtualPanicsInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var healed atomic.Bool
		dial := redistest.Virtual(t).Dial
		user := redistest.VirtualClient(t, redistest.Virtual(t), func(o *redis.Options) {
			o.Dialer = func(context.Context, string, string) (net.Conn, error) {
				if !healed.Load() {
					panic("by the user")
				}
				return dial()
			}
		})
		bg := background.New()
		defer bg.End(time.Hour)
		_, err := rediskit.Operate(t.Context(), rediskit.NewServer("rediskit", user, bg, time.Second), user, func(context.Context, redis.UniversalClient) (int, error) { panic("by a hook") })
		if err == nil || !strings.Contains(err.Error(), "the client has panicked: by a hook") {
			t.Errorf("%v", err)
		}
		works := make(chan struct{}, 1)
		rediskit.NewListener(user, bg).Subscribe("channel", func(string) {}, func() { works <- struct{}{} })
		time.Sleep(time.Minute)
		healed.Store(true)
		<-works
	})
}

// That a connection is silent for the short time of Short says nothing about others.
func TestVirtualShortBlamesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := redistest.Virtual(t)
		n := spoilnet.To(m.Dial)
		var dials atomic.Int32
		p := newOwnPool(t, redistest.VirtualClient(t, m, func(o *redis.Options) {
			o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
				dials.Add(1)
				return n.DialContext(ctx, network, addr)
			}
		}))
		m.Server().SetPreHook(func(*server.Peer, string, ...string) bool { time.Sleep(time.Millisecond); return false })
		for range 2 { // on two connections
			go echo(t.Context(), p.Client(), "k")
		}
		time.Sleep(2 * time.Second)
		n.At(spoilnet.Hold, func(written []byte) bool { return strings.Contains(string(written), "PING") })
		_ = echo(t.Context(), p.Short(50*time.Millisecond), "k")
		if err := echo(t.Context(), p.Client(), "k").Err(); err != nil || dials.Load() != 2 || n.Struck() != 1 {
			t.Errorf("%v, %d connections were made, %d silent", err, dials.Load(), n.Struck())
		}
	})
}
