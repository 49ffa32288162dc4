package redistest

import (
	"context"
	"net"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/internal/test/testmode"
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

// EachMove runs test once for each [Refusal] of a server that is alone, with so many
// clients. move makes their servers refuse, and the addresses lead to other servers, which are
// empty. A refusal lasts on the connections that exist.
func EachMove(t *testing.T, n int, test func(t *testing.T, clients []*redis.Client, move func())) {
	t.Helper()
	testmode.Long(t) // two servers for each client and refusal
	for _, refusal := range Refusals() {
		if refusal.Cluster {
			continue
		}
		t.Run(refusal.Error, func(t *testing.T) {
			t.Parallel()
			clients, moves := make([]*redis.Client, n), make([]func(), n)
			for i := range n {
				from, to := Start(t), Start(t)
				e := NewEndpoint(t, from)
				clients[i], moves[i] = e.Client(), func() { refusal.Begin(t, from); e.Lead(to) }
			}
			test(t, clients, func() {
				for _, move := range moves {
					move()
				}
			})
		})
	}
}
