package redislock_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// One of three Sentinels is silent, whichever the client has asked last. A held lock
// stays held, and attempts succeed again within seconds, with the defaults of go-redis.
// Fails if the client asks a silent one until the lease has ended.
func TestSilentSentinel(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	s := redistest.StartSentinels(t)
	for i, silent := range s.Watchers {
		t.Run(silent.Addr(), func(t *testing.T) {
			t.Parallel()
			var n spoilnet.Network
			c := s.Client(t, func(o *redis.FailoverOptions) {
				o.SentinelAddrs[0], o.SentinelAddrs[i] = o.SentinelAddrs[i], o.SentinelAddrs[0]
				o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
					if addr == silent.Addr() {
						return n.DialContext(ctx, network, addr)
					}
					return new(net.Dialer).DialContext(ctx, network, addr)
				}
			})
			b := newBackend(t, c, redislock.Config{OpTimeout: time.Second})
			g := mustTry(t, b, request("held"+silent.Addr()))
			n.Hang(true)
			start, last := time.Now(), time.Now()
			for time.Since(start) < 2*g.TTL {
				sent := time.Now()
				switch got := driver.RenewAll(t.Context(), b, []driver.Grant{g})[0]; {
				case got == nil:
					last = sent
				case errors.Is(got, driver.ErrLost) || time.Since(last) > g.TTL:
					t.Fatalf("after %v: %+v", time.Since(start), got)
				}
				time.Sleep(g.TTL / 3)
			}
			testkit.MustRelease(t, b, mustTry(t, b, request("new"+silent.Addr())))
			testkit.MustRelease(t, b, g)
		})
	}
}
