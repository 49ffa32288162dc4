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
)

// cluster is servers in this process. Every write is on disk before its answer.
type cluster struct {
	options []*server.Options
	servers []*server.Server
}

func startCluster(t testing.TB, n int) *cluster {
	t.Helper()
	c := &cluster{}
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
	for i := range n {
		o := &server.Options{
			ServerName: fmt.Sprint("s", i), Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), SyncAlways: true, NoSigs: true, NoLog: true,
		}
		if n > 1 {
			o.Cluster = server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: ports[i]}
			o.Routes = server.RoutesFromStr(strings.Join(routes, ","))
		}
		c.options = append(c.options, o)
		c.servers = append(c.servers, nil)
		c.start(t, i)
	}
	t.Cleanup(func() {
		for _, s := range c.servers {
			s.Shutdown()
			s.WaitForShutdown()
		}
	})
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		if nc := c.connect(t); nc.IsConnected() {
			js, _ := jetstream.New(nc)
			if _, err := js.AccountInfo(t.Context()); err == nil {
				return c
			}
		}
		if time.Now().After(end) {
			t.Fatal("the servers have no leader")
		}
	}
}

func (c *cluster) start(t testing.TB, i int) {
	t.Helper()
	s, err := server.NewServer(c.options[i])
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("the server did not start")
	}
	c.options[i].Port = s.Addr().(*net.TCPAddr).Port // that it has after a restart, too
	c.servers[i] = s
}

func (c *cluster) url() string {
	var urls []string
	for _, o := range c.options {
		urls = append(urls, fmt.Sprintf("nats://127.0.0.1:%d", o.Port))
	}
	return strings.Join(urls, ",")
}

func (c *cluster) connect(t testing.TB, more ...nats.Option) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(c.url(), append(more, nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond), nats.PingInterval(time.Second), nats.MaxPingsOutstanding(2))...)
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
