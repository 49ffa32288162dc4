package child_test

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/distlock-go/distlock/internal/test/child"
)

func TestClosedAddr(t *testing.T) {
	addr := child.ClosedAddr(t)
	if c, err := net.Dial("tcp", addr); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("%v, %v", c, err)
	}
	if l, err := net.Listen("tcp", addr); err == nil {
		_ = l.Close()
		t.Error("another can listen there")
	}
}
