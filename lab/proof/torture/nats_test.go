package torture

import (
	"context"
	"fmt"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/distlock-go/distlock/backend/casstores/natslock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/natstest"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
)

// natsStore is a cluster of NATS.
type natsStore struct {
	*natstest.Cluster
	admin driver.Backend
}

func startNATS(tb testing.TB, servers int) store {
	tb.Helper()
	s := &natsStore{Cluster: natstest.Start(tb, servers)}
	b, end, err := openNATS(s.addrs(), new(spoilnet.Network))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(end)
	s.admin = b
	insist(tb, b.(driver.Pinger).Ping)
	return s
}

func (s *natsStore) addrs() []string { return s.Addrs() }

func (s *natsStore) server(i int) *child.Server { return s.Servers[i] }

// left returns the keys that have holders or waiters.
func (s *natsStore) left(int) (left []string, err error) {
	all, err := s.admin.(driver.Inspector).Inspect(context.Background(), "", math.MaxInt)
	for _, k := range all {
		left = append(left, fmt.Sprintf("%+v", k))
	}
	return left, err
}

// natsDialer opens the connections of a client.
type natsDialer struct{ *spoilnet.Network }

func (d natsDialer) Dial(network, addr string) (net.Conn, error) {
	return d.DialTimeout(network, addr, 2*time.Second)
}

func openNATS(addrs []string, n *spoilnet.Network) (driver.Backend, func(), error) {
	nc, err := nats.Connect(strings.Join(addrs, ","), nats.SetCustomDialer(natsDialer{n}), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), nats.ReconnectWait(100*time.Millisecond), nats.PingInterval(time.Second), nats.MaxPingsOutstanding(2))
	if err != nil {
		return nil, nil, err
	}
	return natslock.New(nc, natslock.Config{Replicas: len(addrs)}), nc.Close, nil
}
