package redistest

import (
	"context"
	"net"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Virtual starts a miniredis that uses the time of the testing/synctest bubble that
// calls it, and closes it at the end of the bubble. Its connections are in memory: a
// network connection would keep the time of the bubble from advancing.
//
// A test that calls it must not be parallel: see ownTimers.
func Virtual(tb testing.TB) *miniredis.Miniredis {
	tb.Helper()
	ownTimers(tb)
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true)
	c, err := m.Dial() // starts the server without a port
	must(tb, err)
	_ = c.Close()
	tb.Cleanup(m.Close)
	return m
}

// SetClock makes m show the time of a clock: it is asked before each command of a
// client.
func SetClock(m *miniredis.Miniredis, clock func() time.Time) {
	m.Server().SetPreHook(func(*server.Peer, string, ...string) bool {
		if m.TryLock() { // not for a command of a script, during which the server is locked
			m.Unlock()
			m.SetTime(clock())
		}
		return false
	})
}

// inBubble counts the servers of the bubble that runs.
var inBubble atomic.Int32

// gcPercent lets the heap of a bubble grow by more before it is collected: a server
// makes a Lua state for each script, so that the collector would take a quarter of the
// time.
const gcPercent = 400

// ownTimers empties the sync.Pool in which go-redis keeps the timers of commands that
// wait for a connection, now and at the end of the bubble. All clients of the process
// share that pool: a timer that a bubble left there ends the process when a client
// outside uses it, and one from outside would stop the time of a bubble.
func ownTimers(tb testing.TB) {
	tb.Helper()
	if inBubble.Add(1) == 1 { // once for all servers of a bubble: it takes some 20 ms
		dropTimers()
		usual := debug.SetGCPercent(gcPercent)
		tb.Cleanup(func() { debug.SetGCPercent(usual) })
	}
	tb.Cleanup(func() {
		if inBubble.Add(-1) == 0 {
			dropTimers()
		}
	})
}

// dropTimers has the collector empty all pools, which takes it two rounds.
func dropTimers() {
	runtime.GC()
	runtime.GC()
}

// VirtualClient returns a client of m that works in the bubble, and closes it at the
// end of the bubble. Its connections have buffers for what they write, as sockets have
// them.
func VirtualClient(tb testing.TB, m *miniredis.Miniredis, change ...func(*redis.Options)) *redis.Client {
	tb.Helper()
	o := &redis.Options{
		Addr:   "127.0.0.1:0", // not dialled; a name would be looked up
		Dialer: func(context.Context, string, string) (net.Conn, error) { return m.Dial() },
		// A miniredis does not support these notifications.
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	for _, f := range change {
		f(o)
	}
	dial := o.Dialer
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &bufferedConn{Conn: c}, nil
	}
	c := redis.NewClient(o)
	tb.Cleanup(func() {
		_ = c.Close()
		// The client tries five times to open a connection, also after it is closed,
		// and the bubble's time ends with the test.
		time.Sleep(time.Second)
	})
	return c
}

// bufferedConn passes on what is written on another goroutine. A subscription that
// changes needs that: go-redis does not receive while it writes, and the server does
// not read while it writes. The goroutine is there only while there is something to
// pass on: go-redis may forget a connection without closing it.
type bufferedConn struct {
	net.Conn

	mu      sync.Mutex
	buffer  []byte
	sending bool
}

// Write implements [net.Conn]. If the connection does not work, a read tells.
func (c *bufferedConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.buffer = append(c.buffer, p...)
	if !c.sending {
		c.sending = true
		go c.send()
	}
	return len(p), nil
}

func (c *bufferedConn) send() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.buffer) > 0 {
		p := c.buffer
		c.buffer = nil
		c.mu.Unlock()
		_, err := c.Conn.Write(p)
		c.mu.Lock()
		if err != nil {
			_ = c.Close()
			return // and nothing more is sent
		}
	}
	c.sending = false
}
