package spoilnet_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/test/spoilnet"
)

// echo starts a server that echoes each write and sends a copy to the channel.
func echo(t *testing.T) (addr string, got <-chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	heard := make(chan string, 16)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				buf := make([]byte, 64)
				for {
					n, err := c.Read(buf)
					if err != nil {
						_ = c.Close()
						return
					}
					heard <- string(buf[:n])
					_, _ = c.Write(buf[:n])
				}
			}()
		}
	}()
	return l.Addr().String(), heard
}

func dial(t *testing.T, n *spoilnet.Network, addr string) net.Conn {
	t.Helper()
	c, err := n.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func send(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

func answered(t *testing.T, c net.Conn, want string) {
	t.Helper()
	buf := make([]byte, len(want))
	_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.ReadFull(c, buf); err != nil || string(buf) != want {
		t.Fatalf("answered %q, %v; want %q", buf, err, want)
	}
}

func silent(t *testing.T, c net.Conn) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if n, err := c.Read(make([]byte, 64)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("read %d bytes, %v", n, err)
	}
}

func TestHang(t *testing.T) {
	addr, _ := echo(t)
	n := new(spoilnet.Network)
	c := dial(t, n, addr)
	n.Hang(true)
	send(t, c, "lost")
	silent(t, c)
	n.Hang(false)
	silent(t, c) // it stays cut
	c = dial(t, n, addr)
	send(t, c, "b")
	answered(t, c, "b")
}

func TestLostReply(t *testing.T) {
	addr, got := echo(t)
	n := new(spoilnet.Network)
	c := dial(t, n, addr)
	n.DeafenAt(func(p []byte) bool { return bytes.Contains(p, []byte("create")) })
	send(t, c, "look")
	answered(t, c, "look")
	send(t, c, "create")
	if a, b := <-got, <-got; a != "look" || b != "create" {
		t.Errorf("the server got %q and %q", a, b)
	}
	silent(t, c)
	if n.Deaf() != 1 {
		t.Errorf("%d connections are deaf", n.Deaf())
	}
	n.Kill()
	if _, err := c.Write([]byte("x")); err == nil {
		t.Error("a connection that was killed takes a write")
	}
	c = dial(t, n, addr)
	send(t, c, "b")
	answered(t, c, "b")
	n.Deafen()
	send(t, c, "c")
	silent(t, c)
}

func TestHoldAndDeliver(t *testing.T) {
	addr, got := echo(t)
	n := new(spoilnet.Network)
	c := dial(t, n, addr)
	n.HoldAt(func(p []byte) bool { return string(p) == "held" })
	send(t, c, "held")
	send(t, c, ", too")
	if n.Held() != 1 {
		t.Errorf("%d connections have something kept back", n.Held())
	}
	_ = c.Close()
	if _, err := c.Read(make([]byte, 1)); err == nil { // clients wait for their reads to end
		t.Error("something was read")
	}
	select {
	case text := <-got:
		t.Fatalf("the server got %q", text)
	case <-time.After(20 * time.Millisecond):
	}
	if err := n.Deliver(); err != nil {
		t.Fatal(err)
	}
	if text := <-got; text != "held, too" {
		t.Errorf("the server got %q", text)
	}
}

// The reply comes late, and the deadline of the client holds until then and afterwards.
func TestDelay(t *testing.T) {
	addr, _ := echo(t)
	n := new(spoilnet.Network)
	c := dial(t, n, addr)
	n.At(spoilnet.Delay, func([]byte) bool { return true })
	send(t, c, "late")
	silent(t, c)
	read := make(chan string)
	go func() {
		buf := make([]byte, 3)
		_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
		_, err := io.ReadFull(c, buf)
		read <- fmt.Sprint(string(buf), err)
	}()
	if err := n.Deliver(); err != nil || n.Struck() != 1 {
		t.Errorf("Deliver: %v, %d faults", err, n.Struck())
	}
	if got := <-read; got != "lat<nil>" {
		t.Errorf("read %s", got)
	}
	answered(t, c, "e")
	silent(t, c)
	send(t, c, "b")
	answered(t, c, "b")
}

// The client cannot tell whether the request or the reply was lost.
func TestBrokenConnections(t *testing.T) {
	for fault, want := range map[spoilnet.Fault]string{spoilnet.Lose: "", spoilnet.Snap: "x", spoilnet.Repeat: "x"} {
		addr, got := echo(t)
		n := new(spoilnet.Network)
		c := dial(t, n, addr)
		n.At(fault, func([]byte) bool { return true })
		send(t, c, "x")
		end := time.Now().Add(2 * time.Second)
		_ = c.SetReadDeadline(end)
		for range 2 { // a client may read again
			if m, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) || time.Now().After(end) {
				t.Errorf("fault %d: read %d bytes, %v", fault, m, err)
			}
		}
		_ = c.Close()
		_ = n.Deliver()
		_ = dial(t, n, addr)
		select {
		case text := <-got:
			if text != want {
				t.Errorf("fault %d: the server got %q, want %q", fault, text, want)
			}
		case <-time.After(50 * time.Millisecond):
			if want != "" {
				t.Errorf("fault %d: the server got nothing", fault)
			}
		}
	}
}
