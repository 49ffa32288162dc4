package child_test

import (
	"net"
	"strconv"
	"testing"

	"github.com/distlock-go/distlock/internal/test/child"
)

// TestFreePort checks that a port is returned only once, even if it is not in use.
func TestFreePort(t *testing.T) {
	given := make(map[int]bool)
	for range 500 {
		port, err := child.FreePort()
		if err != nil {
			t.Fatal(err)
		}
		if given[port] {
			t.Fatalf("port %d is given again", port)
		}
		given[port] = true
	}
	for port := range given {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Close()
	}
}
