//go:build !unix

package rediskit

import "net"

func eager(c net.Conn) net.Conn { return c }
