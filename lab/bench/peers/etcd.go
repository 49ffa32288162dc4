package main

import (
	"context"
	"os/exec"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	servers "github.com/distlock-go/distlock/internal/test/child"
)

// startEtcd starts an empty etcd that is not part of a cluster, with its defaults, on
// free ports. It returns the URL and a function that stops it.
func startEtcd(ctx context.Context) (url string, stop func(), err error) {
	bin, err := servers.LookPath("etcd", "it needs etcd in PATH")
	if err != nil {
		return "", nil, err
	}
	command := func(dir string, ports []int) (*exec.Cmd, error) {
		client, peer := "http://"+servers.Address(ports[0]), "http://"+servers.Address(ports[1])
		return exec.Command(bin, "--data-dir", dir, "--name", "peers", "--log-level", "error",
			"--listen-client-urls", client, "--advertise-client-urls", client,
			"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "peers="+peer), nil
	}
	serves := func(addr string) bool { return etcdVersion(ctx, etcdScheme+addr) != "" }
	addr, stop, err := launch(ctx, "etcd", command, serves)
	return etcdScheme + addr, stop, err
}

// newEtcdClient returns a client of the server at url.
func newEtcdClient(url string) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: []string{strings.TrimPrefix(url, etcdScheme)}, Logger: zap.NewNop()})
}

// etcdVersion asks a server for its version. It returns "" if the server does not serve
// clients yet.
func etcdVersion(ctx context.Context, url string) string {
	c, err := newEtcdClient(url)
	if err != nil {
		return ""
	}
	defer c.Close() //nolint:errcheck // nothing is lost
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	status, err := c.Status(ctx, c.Endpoints()[0])
	if err != nil {
		return ""
	}
	return status.Version
}
