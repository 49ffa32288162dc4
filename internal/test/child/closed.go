package child

import "net"

// ClosedAddr returns an address that no server listens on, and on which no other test can
// start one: its port is that of the client's side of a connection, until the test ends.
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
