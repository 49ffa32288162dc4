package backendurl

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/distlock-go/distlock/backend/etcdlock"
	"github.com/distlock-go/distlock/driver"
)

func connectEtcd(ctx context.Context, u *hostURL) (*Backend, error) {
	prefix := etcdlock.DefaultPrefix
	if name := strings.Trim(u.path, "/"); name != "" {
		prefix = name + "/"
	}
	if strings.Contains(u.path, "//") {
		return nil, invalid(errors.New("the prefix has two slashes in a row"))
	}
	// Without keep-alives the client would send every third request to a server that is silent.
	client, end, err := etcdClient(ctx, clientv3.Config{
		DialKeepAliveTime: keepAliveTime, DialKeepAliveTimeout: keepAliveTimeout,
		Endpoints: u.servers, Username: u.user.Username(), Password: u.password(), TLS: u.tls, DialTimeout: ReachTimeout, Logger: zap.NewNop(),
	})
	if err != nil {
		return nil, err
	}
	b, err := etcdlock.New(client, etcdlock.Config{Prefix: prefix})
	if err != nil {
		_ = end()
		return nil, err
	}
	// A command that only shows locks needs a majority that answers, and the right to read.
	reach := func(ctx context.Context) error { _, err := b.(driver.Inspector).Inspect(ctx, "", 1); return err }
	return &Backend{Backend: b, Client: client, reach: reach, end: end}, nil
}

// A connection that was silent for keepAliveTime is asked for an answer within keepAliveTimeout.
// Servers end connections that ask more often than every 5 s. The library waits for 10 s at least.
const (
	keepAliveTime    = 10 * time.Second
	keepAliveTimeout = time.Second
)

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
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("no answer of %s within %v", strings.Join(config.Endpoints, ","), ReachTimeout)
	}
	if err != nil {
		cancel()
		return nil, nil, err
	}
	return client, func() error { defer cancel(); return client.Close() }, nil
}
