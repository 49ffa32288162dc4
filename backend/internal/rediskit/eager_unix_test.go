//go:build unix

package rediskit

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// pairOfConns returns both ends of a connection. The first is eager.
func pairOfConns(t *testing.T) (eagerEnd, other net.Conn) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if other, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = c.Close(), other.Close() })
	return eager(c, c, new(atomic.Bool)), other
}

// An eager connection reads what the other end writes, in parts of any size, quick and
// slow.
func TestEagerReads(t *testing.T) {
	t.Parallel()
	c, other := pairOfConns(t)
	sent := make([]byte, 1<<16)
	for i := range sent {
		sent[i] = byte(rand.Uint32()) //nolint:gosec // any bytes
	}
	go func() {
		for rest := sent; len(rest) > 0; {
			n := min(len(rest), 1+rand.IntN(200)) //nolint:gosec // any size
			_, _ = other.Write(rest[:n])
			rest = rest[n:]
			if n%32 == 0 {
				time.Sleep(time.Millisecond)
			}
		}
		_ = other.Close()
	}()
	got, err := io.ReadAll(c)
	if err != nil || !bytes.Equal(got, sent) {
		t.Errorf("%d bytes of %d, %v", len(got), len(sent), err)
	}
}

// A deadline ends a Read, and so does Close, whether the connection is quick or not.
func TestEagerEnds(t *testing.T) {
	t.Parallel()
	for name, near := range map[string]bool{"near": true, "distant": false} {
		t.Run(name, func(t *testing.T) {
			c, _ := pairOfConns(t)
			c.(*eagerConn).near = near //nolint:forcetypeassert // a panic fails the test
			for _, deadline := range []time.Time{time.Now().Add(-time.Second), time.Now().Add(5 * time.Millisecond)} {
				if err := c.SetReadDeadline(deadline); err != nil {
					t.Fatal(err)
				}
				if n, err := c.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("deadline: %d bytes, %v", n, err)
				}
			}
			if err := c.SetReadDeadline(time.Time{}); err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(time.Millisecond, func() { _ = c.Close() })
			if n, err := c.Read(make([]byte, 1)); n != 0 || !errors.Is(err, net.ErrClosed) {
				t.Errorf("closed: %d bytes, %v", n, err)
			}
		})
	}
}

// countingRaw counts how often a connection is asked for what is there.
type countingRaw struct {
	syscall.RawConn
	asked int
}

func (r *countingRaw) Read(f func(uintptr) bool) error {
	r.asked++
	return r.RawConn.Read(f)
}

// A connection asks again and again after a quick answer, and only sleeps after a slow
// one.
func TestEagerAsksNearbyOnly(t *testing.T) {
	t.Parallel()
	conn, other := pairOfConns(t)
	c := conn.(*eagerConn) //nolint:forcetypeassert // a panic fails the test
	raw := &countingRaw{RawConn: c.raw}
	c.raw = raw
	answer := func(after time.Duration) {
		t.Helper()
		if after > 0 {
			time.AfterFunc(after, func() { _, _ = other.Write([]byte("answer")) })
		} else if _, err := other.Write([]byte("answer")); err != nil {
			t.Fatal(err)
		}
		if n, err := c.Read(make([]byte, 10)); n != len("answer") || err != nil {
			t.Fatalf("%d bytes, %v", n, err)
		}
	}
	for range 3 {
		for quick := 0; !c.near && quick < 1000; quick++ { // the machine may be busy
			answer(0)
		}
		if !c.near {
			t.Fatal("a thousand answers were there before they were read, and it is not near")
		}
		raw.asked = 0
		answer(2 * time.Millisecond)
		if raw.asked == 0 || c.near {
			t.Errorf("after a quick answer it asked %d times; after a slow one it is near: %t", raw.asked, c.near)
		}
		raw.asked = 0
		answer(0)
		if raw.asked > 0 {
			t.Errorf("after a slow answer it asked %d times", raw.asked)
		}
	}
	c.near, raw.asked = true, 0
	c.sleepy.Store(true)
	answer(0)
	if raw.asked > 0 {
		t.Errorf("it asked %d times although it must not", raw.asked)
	}
}
