package backendurl

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/nats-io/nats.go"

	"github.com/distlock-go/distlock/backend/casstores/natslock"
)

// connectNATS makes a client that connects in the background.
func connectNATS(_ context.Context, u *hostURL) (*Backend, error) {
	bucket := strings.Trim(u.path, "/")
	if strings.ContainsFunc(bucket, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}) {
		return nil, invalid(errors.New("the name of the bucket has more than letters, digits, - and _"))
	}
	var servers []string
	for _, s := range u.servers {
		servers = append(servers, "nats://"+s)
	}
	var refused atomic.Pointer[error] // the last attempt to connect that failed
	opts := []nats.Option{
		nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(retryPause), nats.Timeout(ReachTimeout / 2),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { refused.Store(&err) }),
	}
	if u.user != nil {
		opts = append(opts, nats.UserInfo(u.user.Username(), u.password()))
	}
	if u.tls != nil {
		opts = append(opts, nats.Secure(u.tls))
	}
	nc, err := nats.Connect(strings.Join(servers, ","), opts...)
	if err != nil {
		return nil, err
	}
	b := &Backend{Backend: natslock.New(nc, natslock.Config{Bucket: bucket}), Client: nc}
	b.end = func() error { nc.Close(); return nil }
	b.reach = func(ctx context.Context) error {
		err := b.ping(ctx)
		if err == nil || nc.IsConnected() {
			return err
		}
		if last := nc.LastError(); last != nil { // why there is no connection
			err = last
		} else if last := refused.Load(); last != nil {
			err = *last
		}
		return fmt.Errorf("no answer of %s within %v: %w", strings.Join(u.servers, ","), ReachTimeout, err)
	}
	return b, nil
}
