package locktest

import (
	"context"
	"io"
	"net"
	"testing"

	"github.com/distlock-go/distlock/internal/test/spoilnet"
)

// A client that takes an address and nothing else reaches its server through the network, and
// a request that is held arrives when it is delivered.
func TestListen(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got := make(chan string)
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			text, _ := io.ReadAll(c)
			got <- string(text)
			_ = c.Close()
		}
	}()
	n := new(Network)
	addr := n.Listen(t, l.Addr().String())
	send := func(text string) {
		c, err := new(net.Dialer).DialContext(context.Background(), "tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
	}
	send("plain")
	if text := <-got; text != "plain" {
		t.Errorf("the server got %q", text)
	}
	n.faults.AtEach(spoilnet.Hold, 1)
	send("held")
	select {
	case text := <-got:
		t.Errorf("the server got %q before it was delivered", text)
	default:
	}
	for n.faults.Struck() == 0 { // the proxy has not read it yet
		continue
	}
	_ = n.faults.Send()
	n.heal()
	if text := <-got; text != "held" {
		t.Errorf("the server got %q", text)
	}
}
