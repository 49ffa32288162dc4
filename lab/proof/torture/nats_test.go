package torture

import (
	"context"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/distlock-go/distlock/backend/casstores/natslock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
)

// natsEnv has the configuration of a server of NATS, which is this program then.
const natsEnv = "TORTURE_NATS"

func beNATS(config string) error {
	o, err := server.ProcessConfigFile(config)
	if err != nil {
		return err
	}
	s, err := server.NewServer(o)
	if err == nil {
		s.Start()
		s.WaitForShutdown() // until it is killed
	}
	return err
}

// natsStore is a cluster of NATS. Every write is on disk before its answer.
type natsStore struct {
	servers []*child.Server
	admin   driver.Backend
}

func startNATS(tb testing.TB, servers int) store {
	tb.Helper()
	s, dir := &natsStore{}, tb.TempDir()
	for i := range servers {
		member := &child.Server{Name: "NATS", Ports: make([]int, 2)} // for clients and for members
		member.Command = func() (*exec.Cmd, error) {
			var routes []string
			for _, m := range s.servers {
				routes = append(routes, "nats://"+child.Address(m.Ports[1]))
			}
			config := fmt.Sprintf("server_name: m%d\nlisten: %q\njetstream { store_dir: %q, sync_interval: always }\ncluster { name: c, listen: %q, routes: [%s] }",
				i, member.Addr(), filepath.Join(dir, fmt.Sprint(member.Ports[0])), child.Address(member.Ports[1]), strings.Join(routes, ", "))
			path := filepath.Join(dir, fmt.Sprint(i))
			cmd := exec.Command(os.Args[0]) //nolint:gosec // it is this program
			cmd.Env = append(os.Environ(), natsEnv+"="+path)
			return cmd, os.WriteFile(path, []byte(config), 0o600)
		}
		member.Ready = func() bool {
			nc, err := nats.Connect(member.Addr())
			if err == nil {
				nc.Close()
			}
			return err == nil
		}
		s.servers = append(s.servers, member)
		tb.Cleanup(member.Kill)
	}
	child.Need(tb, child.Launch(s.servers...))
	b, end, err := openNATS(s.addrs(), new(spoilnet.Network))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(end)
	s.admin = b
	insist(tb, b.(driver.Pinger).Ping)
	return s
}

func (s *natsStore) addrs() (all []string) {
	for _, m := range s.servers {
		all = append(all, m.Addr())
	}
	return all
}

func (s *natsStore) server(i int) *child.Server { return s.servers[i] }

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
