// Package etcdtest starts etcd servers for tests, each as a [child.Server], which can
// be stopped, killed and started again. It does not need a client of etcd. Only tests
// import it.
//
// A new fault of etcd goes here, as a method of [Server] or [Cluster]; one that any
// server can have goes to package child, and one of the network to package spoilnet.
package etcdtest

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/distlock-go/distlock/internal/test/child"
)

// Server is an etcd process.
type Server struct {
	child.Server
}

// quick are the arguments of a server that is not part of a cluster.
var quick = []string{"--heartbeat-interval=20", "--election-timeout=200"}

// Start starts an empty server that is not part of a cluster, and kills it when the
// test ends. args are appended to the default arguments, which make the shortest lease
// last one second. The test is skipped if there is no etcd; see [child.Need].
func Start(tb testing.TB, args ...string) *Server {
	tb.Helper()
	s := newServers(tb.TempDir(), 1, slices.Concat(quick, args))[0]
	child.Run(tb, s)
	return s
}

// Launch is [Start] for a server that outlives a test, with etcd's own defaults. The
// caller has to kill the server and to remove dir.
func Launch(dir string, args ...string) (*Server, error) {
	s := newServers(dir, 1, args)[0]
	return s, child.Launch(s)
}

// newServers returns n servers that will be one cluster.
func newServers(dir string, n int, args []string) (servers []*Server) {
	for i := range n {
		s := new(Server)
		s.Server = child.Server{
			Name:  "etcd",
			Ports: make([]int, 2), // for clients and for members
			Command: func() (*exec.Cmd, error) {
				return command(dir, i, servers, args)
			},
			Ready: s.healthy,
		}
		servers = append(servers, s)
	}
	return servers
}

// command returns what starts member i.
func command(dir string, i int, servers []*Server, args []string) (*exec.Cmd, error) {
	bin, err := child.LookPath("etcd", "etcdtest: needs etcd in PATH")
	if err != nil {
		return nil, err
	}
	name := func(i int) string { return fmt.Sprintf("m%d", i+1) }
	peer := func(i int) string { return "http://" + child.Address(servers[i].Ports[1]) }
	var members []string
	for i := range servers {
		members = append(members, name(i)+"="+peer(i))
	}
	client := "http://" + servers[i].Addr()
	dir = filepath.Join(dir, strconv.Itoa(servers[0].Ports[0])) // an earlier try had another
	return exec.Command(bin, append([]string{
		"--name=" + name(i),
		"--data-dir=" + filepath.Join(dir, name(i)),
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer(i),
		"--initial-advertise-peer-urls=" + peer(i),
		"--initial-cluster=" + strings.Join(members, ","),
		"--initial-cluster-token=" + dir,
		"--logger=zap", "--log-level=warn",
	}, args...)...), nil
}

// Shared returns a server for all tests of a package, whose TestMain uses [child.Main]. Each
// test has to use keys of its own.
var Shared = child.Shared(func(dir string) (*Server, error) {
	// It is not killed before the end. With this option, etcd 3.4 does not even
	// pass what it has acknowledged on to the operating system.
	return Launch(dir, append(slices.Clip(quick), "--unsafe-no-fsync")...)
})
