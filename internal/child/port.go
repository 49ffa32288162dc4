package child

import (
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// A server that is killed must find its port free when it is started again. The system
// gives none of these, nor of those that are 10,000 higher, which the bus of a Redis
// Cluster takes, to who does not say which it wants, such as a client.
const firstPort, ports = 10_000, 6000

// taken are what keeps other processes that choose a port from choosing one of ours, as
// long as this one lives: the same ports of another protocol, which no server uses.
var taken struct {
	sync.Mutex

	conns []net.PacketConn
}

// FreePort returns a port of 127.0.0.1 on which nobody listens, for a server.
func FreePort() (port int, err error) {
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
