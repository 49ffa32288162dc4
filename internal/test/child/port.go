package child

import (
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// A killed server must find its port free when it is restarted. The system does not
// assign ports of this range to clients, nor the ports that are 10,000 higher, which
// belong to the bus of a Redis Cluster.
const firstPort, ports = 10_000, 6000

// taken reserves the chosen ports against other test processes, for the lifetime of
// this one: it listens on the same port of another protocol, which servers do not use.
var taken struct {
	sync.Mutex

	conns []net.PacketConn
}

// freePort returns a free port of 127.0.0.1 for a server.
func freePort() (port int, err error) {
	for range 1000 {
		port = firstPort + rand.IntN(ports)
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		var c net.PacketConn
		if c, err = net.ListenPacket("udp", addr); err != nil {
			continue
		}
		var l net.Listener
		if l, err = net.Listen("tcp", addr); err != nil {
			_ = c.Close()
			continue
		}
		taken.Lock()
		taken.conns = append(taken.conns, c)
		taken.Unlock()
		return port, l.Close()
	}
	return 0, err
}

// ClosedAddr returns an address that no server listens on, and on which no other test can
// start one: its port is on the client's side of a connection, until the test ends.
func ClosedAddr(tb TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = c.Close()
		_ = l.Close()
	})
	return c.LocalAddr().String()
}

// SilentAddr returns the address of a server that accepts connections and never answers.
func SilentAddr(tb TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}
