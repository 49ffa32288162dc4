package redislock_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/driver"
)

// A release with a lost reply is sent again. It is not a loss even if so many owners
// have released meanwhile that the server has no record of it.
func TestUnshareSentTwice(t *testing.T) {
	s := realServer(t)
	other := newBackend(t, s.Client)
	l := &loser{}
	c := s.real.Client(t, func(o *redis.Options) {
		o.MaxRetries = -1
		o.Dialer = func(context.Context, string, string) (net.Conn, error) {
			conn, err := net.Dial("tcp", s.real.Addr())
			return &losing{Conn: conn, loser: l}, err
		}
	})
	b := newBackend(t, c)
	mustRelease(t, b, mustTry(t, b, reader(lockKey))) // the server has the scripts
	for range 100 {
		g := mustTry(t, b, reader(lockKey))
		crowd := make([]driver.Grant, 20)
		for i := range crowd {
			crowd[i] = mustTry(t, other, reader(lockKey))
		}
		keeper := mustTry(t, other, reader(lockKey))
		l.meanwhile = func() {
			for _, g := range crowd {
				mustRelease(t, other, g)
			}
		}
		l.armed.Store(true)
		err := b.Release(t.Context(), g)
		if l.armed.Load() {
			t.Fatal("no answer was lost")
		}
		mustRelease(t, other, keeper)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			continue // the server was not prompt, so this was sent only once
		}
		if err != nil {
			t.Errorf("release: %v", err)
		}
		return
	}
	t.Fatal("it was never sent twice")
}

// loser drops the next reply on its connections, and breaks the connection.
type loser struct {
	armed     atomic.Bool
	meanwhile func()
}

type losing struct {
	net.Conn
	loser  *loser
	broken atomic.Bool
}

func (c *losing) Read(p []byte) (int, error) {
	if c.broken.Load() {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := c.Conn.Read(p)
	if c.loser.armed.CompareAndSwap(true, false) {
		c.broken.Store(true)
		c.loser.meanwhile()
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}
