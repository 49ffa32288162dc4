//go:build !unix

package rediskit

import (
	"net"
	"sync/atomic"
)

func eager(_, c net.Conn, _ *atomic.Bool) net.Conn { return c }
