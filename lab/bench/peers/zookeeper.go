package main

import (
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	servers "github.com/distlock-go/distlock/internal/test/child"
)

// zooKeeperJar is the path of the server in Debian's package.
const zooKeeperJar = "/usr/share/java/zookeeper.jar"

// startZooKeeper starts a ZooKeeper on a free port, with the defaults of its
// documentation. It returns the URL and a function that stops it.
func startZooKeeper(ctx context.Context) (url string, stop func(), err error) {
	const needs = "it needs java in PATH and Debian's package zookeeper"
	java, err := servers.LookPath("java", needs)
	if err != nil {
		return "", nil, err
	}
	if _, err := os.Stat(zooKeeperJar); err != nil {
		return "", nil, servers.Missing(needs, err)
	}
	command := func(dir string, ports []int) (*exec.Cmd, error) {
		conf := filepath.Join(dir, "zoo.cfg")
		lines := []string{
			"tickTime=2000", "dataDir=" + dir, "clientPort=" + strconv.Itoa(ports[0]), "clientPortAddress=127.0.0.1", "admin.enableServer=false", "",
		}
		return exec.Command(java, "-Xmx256m", "-XX:+UseSerialGC", "-Dzookeeper.jmx.log4j.disable=true",
				"-cp", zooKeeperJar, "org.apache.zookeeper.server.quorum.QuorumPeerMain", conf),
			os.WriteFile(conf, []byte(strings.Join(lines, "\n")), 0o600)
	}
	serves := func(addr string) bool { return zooKeeperVersion(addr) != "" }
	addr, stop, err := launch(ctx, "ZooKeeper", command, serves)
	return zooKeeperScheme + addr, stop, err
}

// zooKeeperVersion asks a server for its version. It returns "" if the server does not
// serve clients yet.
func zooKeeperVersion(addr string) string {
	c, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return ""
	}
	defer c.Close() //nolint:errcheck // nothing is lost
	_ = c.SetDeadline(time.Now().Add(time.Second))
	_, _ = io.WriteString(c, "srvr")
	answer, _ := io.ReadAll(c) // the server may reset the connection after the answer
	return versionIn(string(answer))
}

// versionIn finds the version in an answer that begins like "Zookeeper version:
// 3.8.0-5a02a05, built on 2022-02-25".
func versionIn(answer string) string {
	line, _, _ := strings.Cut(answer, "\n")
	version, ok := strings.CutPrefix(line, "Zookeeper version: ")
	if !ok {
		return "" // such as "This ZooKeeper instance is not currently serving requests"
	}
	version, _, _ = strings.Cut(version, ",")
	version, _, _ = strings.Cut(version, "-")
	return version
}
