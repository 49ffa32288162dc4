package natslock_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/distlock-go/distlock/backend/casstores/natslock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/locktest"
)

// netDialer opens the connections of a client through a network.
type netDialer struct{ n *locktest.Network }

func (d netDialer) Dial(network, addr string) (net.Conn, error) {
	return d.n.DialContext(context.Background(), network, addr)
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	testmode.Long(t)
	for _, replicas := range []int{1, 3} {
		t.Run(fmt.Sprint("R", replicas), func(t *testing.T) {
			c := startCluster(t, replicas)
			over := func(t *testing.T, _ driver.Backend, n *locktest.Network) driver.Backend {
				return natslock.New(c.connect(t, nats.SetCustomDialer(netDialer{n})), natslock.Config{Replicas: replicas})
			}
			open := func(t *testing.T) driver.Backend { return over(t, nil, new(locktest.Network)) }
			locktest.Run(t, open, locktest.Features{
				Lease: time.Duration(replicas) * 400 * time.Millisecond,
				Over:  over,
				Drop: func(t *testing.T, _ driver.Backend, key string) {
					kv, err := c.jetstream(t).KeyValue(t.Context(), "distlock")
					if err == nil {
						err = kv.Purge(t.Context(), natslock.Escape(key))
					}
					if err != nil {
						t.Fatal(err)
					}
				},
			})
		})
	}
}
