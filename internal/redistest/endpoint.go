package redistest

import (
	"context"
	"net"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Endpoint is an address that leads to one server now and to another one later, as that of a
// managed Redis or of a proxy. Connections stay with the server that they were made to.
type Endpoint struct {
	tb testing.TB
	at atomic.Pointer[Server]
}

// NewEndpoint returns an Endpoint that leads to the server.
func NewEndpoint(tb testing.TB, s *Server) *Endpoint {
	tb.Helper()
	e := &Endpoint{tb: tb}
	e.Lead(s)
	return e
}

// Lead makes the next connections go to the server.
func (e *Endpoint) Lead(to *Server) { e.at.Store(to) }

// Client returns a client of whatever server the endpoint leads to. It keeps some idle
// connections.
func (e *Endpoint) Client() *redis.Client {
	e.tb.Helper()
	return e.at.Load().Client(e.tb, func(o *redis.Options) {
		o.MinIdleConns = 2
		o.Dialer = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, e.at.Load().Addr())
		}
	})
}
