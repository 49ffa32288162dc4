package natslock_test

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/distlock-go/distlock/internal/test/testkit"
)

// cluster is servers in this process. Every write is on disk before its answer. The tests that
// break servers are in lab/proof/torture.
type cluster struct{ url string }

func startCluster(t testing.TB, n int) *cluster {
	t.Helper()
	var routes []string
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
		routes = append(routes, "nats://"+l.Addr().String())
		_ = l.Close()
	}
	c := new(cluster)
	for i := range n {
		o := &server.Options{
			ServerName: fmt.Sprint("s", i), Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), SyncAlways: true, NoSigs: true, NoLog: true,
		}
		if n > 1 {
			o.Cluster = server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: ports[i]}
			o.Routes = server.RoutesFromStr(strings.Join(routes, ","))
		}
		s, err := server.NewServer(o)
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		t.Cleanup(s.WaitForShutdown)
		t.Cleanup(s.Shutdown)
		if !s.ReadyForConnections(20 * time.Second) {
			t.Fatal("the server did not start")
		}
		c.url = s.ClientURL() // the clients hear of the others
	}
	js, _ := jetstream.New(c.connect(t))
	testkit.Eventually(t, "the servers have a leader", func() bool {
		_, err := js.AccountInfo(t.Context())
		return err == nil
	})
	return c
}

func (c *cluster) connect(t testing.TB, more ...nats.Option) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(c.url, append(more, nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond), nats.PingInterval(time.Second), nats.MaxPingsOutstanding(2))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

func (c *cluster) jetstream(t testing.TB) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(c.connect(t))
	if err != nil {
		t.Fatal(err)
	}
	return js
}
