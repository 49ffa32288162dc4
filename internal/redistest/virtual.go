package redistest

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Virtual starts a miniredis whose leases and clock are those of the
// testing/synctest bubble that it is called in, and closes it at the end of the
// bubble. No connection of it touches the network, which would keep the bubble's
// time from moving.
func Virtual(tb testing.TB) *miniredis.Miniredis {
	tb.Helper()
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true)
	c, err := m.Dial() // starts it without a port
	if err != nil {
		tb.Fatal(err)
	}
	_ = c.Close()
	tb.Cleanup(m.Close)
	return m
}

// VirtualClient returns a client of m that lives in the bubble, and closes it at
// the bubble's end.
func VirtualClient(tb testing.TB, m *miniredis.Miniredis, change ...func(*redis.Options)) *redis.Client {
	tb.Helper()
	o := &redis.Options{
		Addr:   "127.0.0.1:0", // never dialled; a name would be looked up
		Dialer: func(context.Context, string, string) (net.Conn, error) { return m.Dial() },
		// Asks for what a miniredis does not have.
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	for _, f := range change {
		f(o)
	}
	c := redis.NewClient(o)
	tb.Cleanup(func() {
		_ = c.Close()
		// A connection that is being opened is tried five times, also after that; and
		// the bubble's time ends with the test.
		time.Sleep(time.Second)
	})
	return c
}
