// Package natstest starts servers of NATS for tests, each as a [child.Server], which can be
// stopped, killed and started again. The program is a tool of the module backend/casstores, so
// that the package needs no module of NATS. Only tests import it.
package natstest

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/test/child"
)

// asker asks for the health of servers. It keeps no connection, so that no goroutine outlives a
// request.
var asker = &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// Cluster is one server, or several that replicate one another.
type Cluster = child.Cluster[*child.Server]

// Start starts n empty servers, and kills them when the test ends. The test is skipped if
// there is no server; see [child.Need].
func Start(tb testing.TB, n int) *Cluster {
	tb.Helper()
	c := newCluster(tb.TempDir(), n)
	child.Run(tb, c.Servers...)
	return c
}

// Launch is [Start] for one server that outlives a test. The caller has to kill it and to
// remove dir.
func Launch(dir string) (*child.Server, error) {
	s := newCluster(dir, 1).Servers[0]
	return s, child.Launch(s)
}

func newCluster(dir string, n int) *Cluster {
	c := new(Cluster)
	for i := range n {
		s := &child.Server{Name: "NATS", Ports: make([]int, 3)} // for clients, questions of health, and members
		s.Command = func() (*exec.Cmd, error) { return command(dir, i, c.Servers) }
		s.Ready = func() bool {
			answer, err := asker.Get("http://" + child.Address(s.Ports[1]) + "/healthz?js-meta-only=true")
			if err != nil {
				return false
			}
			_ = answer.Body.Close()
			return answer.StatusCode == http.StatusOK // it also knows a leader
		}
		c.Servers = append(c.Servers, s)
	}
	return c
}

// program asks the go command for the path of the server, which it builds if need be.
var program = sync.OnceValues(func() ([]byte, error) {
	return exec.Command("go", "tool", "-n", "nats-server").Output()
})

// command returns what starts member i. Every write is on disk before its answer.
func command(dir string, i int, servers []*child.Server) (*exec.Cmd, error) {
	bin, err := program()
	if err != nil {
		return nil, child.Missing("natstest: needs the go command and the workspace of the repository", err)
	}
	s, dir := servers[i], filepath.Join(dir, fmt.Sprint(servers[i].Ports[0])) // an earlier try had another
	config := fmt.Sprintf("server_name: m%d\nlisten: %q\nhttp: %q\njetstream { store_dir: %q, sync_interval: always }\n",
		i, s.Addr(), child.Address(s.Ports[1]), dir)
	if len(servers) > 1 {
		var routes []string
		for _, m := range servers {
			routes = append(routes, "nats://"+child.Address(m.Ports[2]))
		}
		config += fmt.Sprintf("cluster { name: c, listen: %q, routes: [%s] }\n", child.Address(s.Ports[2]), strings.Join(routes, ", "))
	}
	path := dir + ".conf"
	return exec.Command(strings.TrimSpace(string(bin)), "-c", path), os.WriteFile(path, []byte(config), 0o600) //nolint:gosec // a test
}
