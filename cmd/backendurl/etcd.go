package backendurl

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/distlock-go/distlock/backend/etcdlock"
)

func connectEtcd(ctx context.Context, u *hostURL) (*Backend, error) {
	config, prefix, err := parseEtcd(u)
	if err != nil {
		return nil, invalid(err)
	}
	client, end, err := etcdClient(ctx, config)
	if err != nil {
		return nil, err
	}
	b, err := etcdlock.New(client, etcdlock.WithPrefix(prefix))
	if err != nil {
		_ = end()
		return nil, err
	}
	return &Backend{
		Backend: b, Client: client, Servers: u.servers, Password: config.Password != "", TLS: config.TLS != nil,
		reach: func(ctx context.Context) error { return reachEtcd(ctx, b) }, end: end,
	}, nil
}

// reachEtcd checks that a majority answers, and that the user may read the keys. A command
// that only shows locks needs no more.
func reachEtcd(ctx context.Context, b *etcdlock.Backend) error {
	_, err := b.Inspect(ctx, "", 1)
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// etcdClient returns a client, and a function that closes it. With a user, the client
// logs in at once, and says only that this took too long if it has no connection.
func etcdClient(ctx context.Context, config clientv3.Config) (*clientv3.Client, func() error, error) {
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	config.Context = base
	client, err := clientv3.New(config)
	switch stopped := stop(); {
	case !stopped && err == nil:
		_ = client.Close() // it was never used
		err = ctx.Err()
	case !stopped:
		err = ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		err = noAnswer(config.Endpoints)
	}
	if err != nil {
		cancel()
		return nil, nil, err
	}
	return client, func() error { defer cancel(); return client.Close() }, nil
}

// noAnswer returns the error for servers that do not answer, with the cause if one does
// not take connections.
func noAnswer(servers []string) error {
	for _, server := range servers {
		c, err := net.DialTimeout("tcp", server, dialTimeout)
		if err != nil {
			return fmt.Errorf("no answer within %v: %w", reachTimeout, err)
		}
		_ = c.Close()
	}
	return fmt.Errorf("no answer of %s within %v", strings.Join(servers, ","), reachTimeout)
}

// dialTimeout is for finding the cause of a failure.
const dialTimeout = 500 * time.Millisecond

// parseEtcd returns the configuration of the client, and the prefix of the keys.
func parseEtcd(u *hostURL) (config clientv3.Config, prefix string, err error) {
	if err := u.onlyParameters(tlsParameter); err != nil {
		return config, "", err
	}
	config.Endpoints, config.DialTimeout, config.Logger = u.servers, reachTimeout, zap.NewNop()
	if config.Username, config.Password, err = u.loginBoth(); err != nil {
		return config, "", err
	}
	if config.TLS, err = u.tls(); err != nil {
		return config, "", err
	}
	prefix = strings.Trim(u.path, "/")
	switch {
	case strings.Contains(u.path, "//"):
		return config, "", errors.New("the prefix has two slashes in a row")
	case prefix == "":
		return config, etcdlock.DefaultPrefix, nil
	}
	return config, prefix + "/", nil
}
