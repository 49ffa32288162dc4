package redistest

import (
	"context"
	"net"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/internal/test/testmode"
)

// EachMove runs test once for each [Refusal] of a server that is alone, with so many
// clients. move makes their servers refuse, and the addresses lead to other servers,
// which are empty, as that of a managed Redis or of a proxy does. Connections stay with
// the server that they were made to, and there the refusal lasts.
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
				var at atomic.Pointer[Server]
				at.Store(from)
				clients[i] = from.Client(t, func(o *redis.Options) {
					o.MinIdleConns = 2
					o.Dialer = func(ctx context.Context, network, _ string) (net.Conn, error) {
						return new(net.Dialer).DialContext(ctx, network, at.Load().Addr())
					}
				})
				moves[i] = func() { refusal.Begin(t, from); at.Store(to) }
			}
			test(t, clients, func() {
				for _, move := range moves {
					move()
				}
			})
		})
	}
}
