// Package zktest starts ZooKeeper servers for tests, each as a [child.Server], which
// can be stopped, killed and started again. Only tests import it.
//
// A new fault of ZooKeeper goes here, as a method of [Server] or [Ensemble]; one that
// any server can have goes to package child, and one of the network to package
// spoilnet.
package zktest

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/test/child"
)

// Config configures a server. The zero value works.
type Config struct {
	// Properties are Java system properties, such as
	// "znode.container.checkIntervalMs=100".
	Properties []string

	// Settings are lines of the configuration file. They come after the others, and so
	// win. The default of tickTime is 200 ms, and the shortest session timeout two
	// ticks.
	Settings []string
}

// Server is a ZooKeeper server process.
type Server struct {
	child.Server

	dir      string
	config   Config
	id       int       // in the ensemble
	ensemble *Ensemble // nil if the server is alone
}

// Start starts an empty standalone server, and kills it when the test ends. The test is
// skipped if ZooKeeper is not installed; see [child.Need].
func Start(tb testing.TB, c Config) *Server {
	tb.Helper()
	s := newServer(tb.TempDir(), c, 1)
	child.Run(tb, s)
	return s
}

// Launch is [Start] for a server that outlives a test. The caller has to kill the
// server and to remove dir.
func Launch(dir string, c Config) (*Server, error) {
	s := newServer(dir, c, 1)
	return s, child.Launch(s)
}

func newServer(dir string, c Config, ports int) *Server {
	s := &Server{dir: dir, config: c}
	s.Server = child.Server{Name: "ZooKeeper", Ports: make([]int, ports), Command: s.command, Ready: s.ready}
	return s
}

// command writes the configuration, and returns what starts the process.
func (s *Server) command() (*exec.Cmd, error) {
	java, path, err := ServerPath()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(s.dir, strconv.Itoa(s.Ports[0])) // other members and earlier tries have others
	data := filepath.Join(dir, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, err
	}
	conf := []string{
		"tickTime=200",
		"dataDir=" + data,
		"clientPort=" + strconv.Itoa(s.Ports[0]),
		"clientPortAddress=127.0.0.1",
		"admin.enableServer=false",
		"4lw.commands.whitelist=*",
		"maxClientCnxns=0",
		"maxSessionTimeout=600000",
	}
	if err := dropEmptyLogs(data); err != nil {
		return nil, err
	}
	if s.ensemble != nil {
		if err := os.WriteFile(filepath.Join(data, "myid"), []byte(strconv.Itoa(s.id)), 0o600); err != nil {
			return nil, err
		}
		conf = append(conf, s.ensemble.lines()...)
	}
	conf = append(conf, s.config.Settings...)
	file := filepath.Join(dir, "zoo.cfg")
	if err := os.WriteFile(file, []byte(strings.Join(conf, "\n")+"\n"), 0o600); err != nil {
		return nil, err
	}
	args := []string{"-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dzookeeper.jmx.log4j.disable=true",
		"-Dzookeeper.forceSync=no"} // a power failure is not tested
	for _, p := range s.config.Properties {
		args = append(args, "-D"+p)
	}
	args = append(args, "-cp", path, "org.apache.zookeeper.server.quorum.QuorumPeerMain", file)
	cmd := exec.Command(java, args...)
	cmd.Dir = dir
	return cmd, nil
}

// dropEmptyLogs deletes logs of transactions without the header of 16 bytes. A server
// that is killed when it begins a log leaves one, and does not start with it.
func dropEmptyLogs(data string) error {
	logs, err := filepath.Glob(filepath.Join(data, "version-2", "log.*"))
	for _, log := range logs {
		if info, e := os.Stat(log); e == nil && info.Size() < 16 {
			err = errors.Join(err, os.Remove(log))
		}
	}
	return err
}

// ready reports whether the server serves clients. The command ruok says that the
// server is well long before that.
func (s *Server) ready() bool {
	answer, err := s.Ask("srvr")
	return err == nil && strings.Contains(answer, "Mode: ")
}

// Ask sends a four-letter command and returns the answer.
func (s *Server) Ask(command string) (string, error) {
	c, err := net.DialTimeout("tcp", s.Addr(), 5*time.Second)
	if err != nil {
		return "", err
	}
	defer c.Close() //nolint:errcheck // nothing is lost
	if err := c.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(c, command); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(c)
	if len(answer) > 0 {
		err = nil // the server may reset the connection after its answer
	}
	return string(answer), err
}

// Shared returns a server for all tests of a package, whose TestMain uses [child.Main]. Each
// test has to use keys of its own.
var Shared = child.Shared(func(dir string) (*Server, error) { return Launch(dir, Config{}) })

// ServerPath returns the path of the java command and the class path of the server, as
// Debian's packages have them. The error matches [child.ErrMissing] if one is not
// installed.
func ServerPath() (java, classPath string, err error) {
	const needs = "zktest: needs Java and Debian's zookeeper package"
	java, err = child.LookPath("java", needs)
	if err != nil {
		return "", "", err
	}
	jars := []string{"/usr/share/java/zookeeper.jar", "/usr/share/java/slf4j-nop.jar"}
	for _, jar := range jars {
		if _, err := os.Stat(jar); err != nil {
			return "", "", child.Missing(needs, err)
		}
	}
	return java, strings.Join(jars, string(filepath.ListSeparator)), nil
}
