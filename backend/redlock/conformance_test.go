package redlock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/locktest"
)

// conform runs the suite with and without tokens. A peer is another Backend with its
// own clients, as in another process.
func conform(t *testing.T, f locktest.Features, start func(t *testing.T) *fleet) {
	t.Helper()
	variants := map[string]bool{"plain": false, "tokens": true}
	if f.Bubble && testkit.Race {
		delete(variants, "plain") // the simulated servers are slow then, and the other variant has all cases
	}
	for name, tokens := range variants {
		t.Run(name, func(t *testing.T) {
			f := f
			cfg := redlock.Config{MaxLease: 10 * time.Minute, TrustedStart: true, NodeTimeout: 10 * time.Second, Tokens: tokens}
			fleets := make(map[driver.Backend]*fleet)
			addWith := func(f *fleet, cfg redlock.Config) driver.Backend {
				b := redlock.New(f.clients(), cfg)
				fleets[b] = f
				return b
			}
			add := func(f *fleet) driver.Backend { return addWith(f, cfg) }
			f.NoTokens = name == "plain"
			f.Settle = 5 * time.Second
			f.Drop = func(t *testing.T, b driver.Backend, key string) {
				t.Helper()
				if f.Bubble {
					synctest.Wait() // also on late nodes
				}
				fleets[b].del(t, key, upTo(len(fleets[b].admins))...)
			}
			f.NoNetwork = !tokens
			over := func(t *testing.T, first driver.Backend, n *locktest.Network) driver.Backend {
				clients := fleets[first].clients()
				for i, c := range clients {
					clients[i] = redistest.Through(t, c, n)
				}
				limited := cfg
				limited.NodeTimeout = time.Second
				b := redlock.New(clients, limited)
				fleets[b] = fleets[first]
				return b
			}
			if tokens { // once is enough
				f.Over = over
			}
			f.Peer = func(_ *testing.T, first driver.Backend) driver.Backend { return add(fleets[first]) }
			locktest.Run(t, func(t *testing.T) driver.Backend { return add(start(t)) }, f)
		})
	}
}

// The suite, over a network that loses and delays requests and replies.
//
// Row 7 (redlock): a holder that reaches no server, or hears from none, is told before another
// owner has the key. Fails if a lease is trusted for a second longer than it lasts.
// Row 8 (redlock): the same owner gets the same grant again, a renewal and a release
// that are repeated find no loss, and a late copy takes nothing from the next holder.
// Fails if a repeated request of an owner is refused.
// TestVirtualOvertakenAttempt notices a server that forgets a release.
// Row 14 (redlock): a call whose context has ended returns soon, and leaves nothing on any node.
// Row 24 (redlock): what was given back before Close is free for another process,
// and MinHold goes on. Fails if MinHold ends with the process.
func TestConformanceVirtual(t *testing.T) {
	conform(t, locktest.Features{Bubble: true}, func(t *testing.T) *fleet { return virtualFleet(t, 3) })
}

func TestConformanceRedis(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	servers := realFleet(t, 5)
	conform(t, locktest.Features{Lease: 800 * time.Millisecond}, func(t *testing.T) *fleet {
		own := *servers
		own.client = func(i int, change ...func(*redis.Options)) *redis.Client {
			return servers.servers[i].Client(t, change...)
		}
		return &own
	})
}
