package natslock_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/distlock-go/distlock/internal/test/natstest"
)

// cluster is servers of a test. The tests that break servers are in lab/proof/torture.
type cluster struct{ *natstest.Cluster }

func startCluster(t testing.TB, n int) cluster {
	t.Helper()
	return cluster{natstest.Start(t, n)}
}

func (c cluster) connect(t testing.TB, more ...nats.Option) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(strings.Join(c.Addrs(), ","), append(more, nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond), nats.PingInterval(time.Second), nats.MaxPingsOutstanding(2))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

func (c cluster) jetstream(t testing.TB) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(c.connect(t))
	if err != nil {
		t.Fatal(err)
	}
	return js
}
