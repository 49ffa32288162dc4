package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// zooKeeperJar is the path of the server in Debian's package.
const zooKeeperJar = "/usr/share/java/zookeeper.jar"

// errNoZooKeeper means that ZooKeeper is not installed.
var errNoZooKeeper = errors.New("it needs java in PATH and Debian's package zookeeper")

// startZooKeeper starts a ZooKeeper on a free port, with the defaults of its
// documentation: it answers after a change is on disk. It returns the URL and a
// function that stops it.
func startZooKeeper(ctx context.Context) (url string, stop func(), err error) {
	java, err := exec.LookPath("java")
	if err != nil {
		return "", nil, fmt.Errorf("%w: %w", errNoZooKeeper, err)
	}
	if _, err := os.Stat(zooKeeperJar); err != nil {
		return "", nil, fmt.Errorf("%w: %w", errNoZooKeeper, err)
	}
	dir, err := os.MkdirTemp("", "peers-zookeeper")
	if err != nil {
		return "", nil, err
	}
	// Another process may take the port before the server listens on it.
	var addr string
	var kill func()
	for range 5 {
		if addr, kill, err = tryZooKeeper(ctx, java, dir); err == nil || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return zooKeeperScheme + addr, func() { kill(); _ = os.RemoveAll(dir) }, nil
}

func tryZooKeeper(ctx context.Context, java, dir string) (addr string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	addr = l.Addr().String()
	_ = l.Close()
	_, port, _ := net.SplitHostPort(addr)
	conf := filepath.Join(dir, "zoo.cfg")
	lines := []string{
		"tickTime=2000", "dataDir=" + dir, "clientPort=" + port, "clientPortAddress=127.0.0.1", "admin.enableServer=false", "",
	}
	if err := os.WriteFile(conf, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		return "", nil, err
	}

	var output bytes.Buffer
	cmd := exec.Command(java, "-Xmx256m", "-XX:+UseSerialGC", "-Dzookeeper.jmx.log4j.disable=true",
		"-cp", zooKeeperJar, "org.apache.zookeeper.server.quorum.QuorumPeerMain", conf)
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(exited)
	}()
	stop = func() {
		_ = cmd.Process.Kill() // its data is not needed
		<-exited
	}
	for limit := time.Now().Add(30 * time.Second); ; {
		if zooKeeperVersion(addr) != "" {
			return addr, stop, nil
		}
		select {
		case <-exited:
			return "", nil, fmt.Errorf("ZooKeeper does not start: %s", bytes.TrimSpace(output.Bytes()))
		case <-time.After(20 * time.Millisecond):
		}
		if ctx.Err() != nil || time.Now().After(limit) {
			stop()
			return "", nil, errors.New("ZooKeeper does not answer")
		}
	}
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
