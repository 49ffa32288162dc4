package rediskit_test

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/internal/background"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// heard is what a subscriber was told: "look", or the text of a message.
type heard struct {
	mu   sync.Mutex
	said []string
}

func (h *heard) message(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.said = append(h.said, text)
}

func (h *heard) look() { h.message("look") }

// want checks what was told since the last call, when all goroutines wait.
func (h *heard) want(t *testing.T, when string, want ...string) {
	t.Helper()
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.Equal(h.said, want) {
		t.Errorf("%s: it was told %q, want %q", when, h.said, want)
	}
	h.said = nil
}

// listener returns a Listener with connections through the network, and a client that
// publishes.
func listener(t *testing.T) (*rediskit.Listener, *spoilnet.Network, *redis.Client) {
	t.Helper()
	m := redistest.Virtual(t)
	n := spoilnet.To(m.Dial)
	c := redistest.VirtualClient(t, m, func(o *redis.Options) { o.Dialer = n.DialContext })
	return newListener(t, c), n, redistest.VirtualClient(t, m)
}

func newListener(t *testing.T, c *redis.Client) *rediskit.Listener {
	t.Helper()
	bg := background.New()
	t.Cleanup(func() { bg.End(time.Minute) })
	return rediskit.NewListener(c, bg)
}

func publish(t *testing.T, c *redis.Client, channel, text string) (receivers int64) {
	t.Helper()
	n, err := c.Publish(t.Context(), channel, text).Result()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestListenerSharesAConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, n, c := listener(t)
		var a, a2, b heard
		defer l.Subscribe("a", a.message, a.look)()
		defer l.Subscribe("b", b.message, b.look)()
		a.want(t, "the subscription works", "look")
		b.want(t, "the subscription works", "look")
		leave := l.Subscribe("a", a2.message, a2.look)
		a2.want(t, "the subscription works already", "look")
		publish(t, c, "a", "1")
		publish(t, c, "b", "2")
		leave()
		publish(t, c, "a", "3")
		a.want(t, "messages", "1", "3")
		a2.want(t, "before it left", "1")
		b.want(t, "messages", "2")
		n.Deafen()
		if n := n.Deaf(); n != 1 {
			t.Errorf("%d connections", n)
		}
	})
}

// A channel stays for a moment when its last subscriber leaves, and not longer.
func TestListenerLeavesChannels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _, c := listener(t)
		var one, two heard
		l.Subscribe("a", one.message, one.look)() // before there is a connection for it
		synctest.Wait()
		leave := l.Subscribe("a", one.message, one.look)
		one.want(t, "the subscription works", "look")
		leave()
		leave = l.Subscribe("a", two.message, two.look)
		two.want(t, "the channel was kept", "look")
		time.Sleep(2 * rediskit.PingEvery)
		publish(t, c, "a", "1")
		two.want(t, "a message", "1")
		leave()
		time.Sleep(rediskit.PingEvery)
		synctest.Wait()
		if n := publish(t, c, "a", "2"); n != 0 {
			t.Errorf("%d receivers after all have left", n)
		}
		defer l.Subscribe("a", one.message, one.look)()
		one.want(t, "again", "look")
		publish(t, c, "a", "3")
		one.want(t, "a message", "3")
		two.want(t, "after it has left")
	})
}

// All subscribers are told to look after each interruption: of a connection that
// breaks, of one that is dead, and while the server cannot be reached.
func TestListenerInterrupted(t *testing.T) {
	for name, c := range map[string]struct {
		interrupt func(*spoilnet.Network)
		within    time.Duration
	}{
		"broken":      {(*spoilnet.Network).Kill, 0},
		"dead":        {(*spoilnet.Network).Cut, 3 * rediskit.PingEvery},
		"unreachable": {func(n *spoilnet.Network) { n.Refuse(true); n.Kill(); time.Sleep(time.Minute); n.Refuse(false) }, 10 * time.Second},
	} {
		testkit.InBubble(t, name, func(t *testing.T) {
			l, n, p := listener(t)
			var a, b heard
			defer l.Subscribe("a", a.message, a.look)()
			defer l.Subscribe("b", b.message, b.look)()
			a.want(t, "the subscription works", "look")
			b.want(t, "the subscription works", "look")
			c.interrupt(n)
			time.Sleep(c.within)
			synctest.Wait()
			a.want(t, "the subscription works again", "look")
			b.want(t, "the subscription works again", "look")
			publish(t, p, "a", "1")
			a.want(t, "a message", "1")
		})
	}
}

// refuse has the server refuse commands as if the user had no right.
func refuse(m *miniredis.Miniredis, which func(cmd string, args []string) bool) {
	m.Server().SetPreHook(func(c *server.Peer, cmd string, args ...string) bool {
		refused := which(cmd, args)
		if refused {
			c.WriteError("NOPERM this user has no permissions")
		}
		return refused
	})
}

// The address may lead to another server later, although the connection works: it is
// made anew from time to time.
func TestListenerConnectsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _, c := listener(t)
		var a heard
		defer l.Subscribe("a", a.message, a.look)()
		a.want(t, "the subscription works", "look")
		time.Sleep(rediskit.ListenFor - time.Second)
		a.want(t, "it is used")
		time.Sleep(2 * time.Second)
		a.want(t, "it was made anew", "look")
		publish(t, c, "a", "1")
		a.want(t, "a message", "1")
	})
}

// The user may not send a ping. The refusal is an answer, too, so the connection is
// alive.
func TestListenerWithoutPing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := redistest.Virtual(t)
		refuse(m, func(cmd string, _ []string) bool { return cmd == "PING" })
		l := newListener(t, redistest.VirtualClient(t, m))
		var a heard
		defer l.Subscribe("a", a.message, a.look)()
		a.want(t, "the subscription works", "look")
		time.Sleep(time.Minute)
		a.want(t, "pings are refused")
	})
}

// The user may not subscribe to some channels, however many they are. The others work
// on one connection without an interruption: a subscriber that is told to look asks the
// server. When the user gets the right, all of them work.
func TestListenerRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := redistest.Virtual(t)
		var allowed atomic.Bool
		refuse(m, func(cmd string, args []string) bool {
			return !allowed.Load() && cmd == "SUBSCRIBE" && strings.HasPrefix(args[0], "secret")
		})
		c := redistest.VirtualClient(t, m)
		l := newListener(t, redistest.VirtualClient(t, m))
		var a, secret heard
		defer l.Subscribe("a", a.message, a.look)()
		const refused = 20
		for i := range refused {
			t.Cleanup(l.Subscribe("secret"+strconv.Itoa(i), secret.message, secret.look))
		}
		a.want(t, "the subscription works", "look")
		time.Sleep(time.Minute)
		a.want(t, "others are refused")
		secret.want(t, "it is refused")
		publish(t, c, "a", "1")
		a.want(t, "a message", "1")

		allowed.Store(true)
		time.Sleep(2 * rediskit.PingEvery)
		secret.want(t, "it is allowed", slices.Repeat([]string{"look"}, refused)...)
		a.want(t, "others are allowed")
	})
}
