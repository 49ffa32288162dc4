package natslock_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/distlock-go/distlock/backend/casstores/natslock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/locktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	for _, replicas := range []int{1, 3} {
		t.Run(fmt.Sprint("R", replicas), func(t *testing.T) {
			if replicas > 1 {
				testmode.Long(t)
			}
			c := startCluster(t, replicas)
			open := func(t *testing.T) driver.Backend {
				return natslock.New(c.connect(t), natslock.Config{Replicas: replicas})
			}
			locktest.Run(t, open, locktest.Features{
				Lease: time.Duration(replicas) * 400 * time.Millisecond,
				Peer:  func(t *testing.T, _ driver.Backend) driver.Backend { return open(t) },
				Drop: func(t *testing.T, _ driver.Backend, key string) {
					js, err := jetstream.New(c.connect(t))
					if err != nil {
						t.Fatal(err)
					}
					kv, err := js.KeyValue(t.Context(), "distlock")
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
