package backendurl

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/distlock-go/distlock/backend/zklock"
)

func openZooKeeper(ctx context.Context, rawURL string) (*Backend, error) {
	servers, opts, err := parseZooKeeper(rawURL)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrURL, err)
	}
	d := new(dialer)
	b, err := zklock.New(servers, append(opts, zklock.WithDialer(d.dial), zklock.WithLogger(slog.Default()))...)
	if err != nil {
		if _, isDNS := errors.AsType[*net.DNSError](err); isDNS {
			return nil, err
		}
		return nil, fmt.Errorf("%w: %w", ErrURL, err)
	}
	if err := reachZooKeeper(ctx, b, d); err != nil {
		_ = b.Close() // it never worked
		return nil, err
	}
	return &Backend{Backend: b, end: b.Close}, nil
}

// reachZooKeeper asks for a sign of life of those who have the majority. A server
// that does not answer costs a second before the next one is tried, so that one
// failure says little.
func reachZooKeeper(ctx context.Context, b *zklock.Backend, d *dialer) error {
	reach, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	for {
		_, err := b.Inspect(reach, "", 0) // no key, only what it takes to look
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, zk.ErrNoAuth): // which is an answer
			return fmt.Errorf("%w: the nodes are another user's", err)
		}
		select {
		case <-time.After(retryPause):
		case <-reach.Done():
			if err := d.failure(); err != nil {
				return err
			}
			return fmt.Errorf("no answer within %v", reachTimeout)
		}
	}
}

// retryPause is for failures that take no time themselves.
const retryPause = 50 * time.Millisecond

// dialer remembers why there was no connection, which otherwise nobody tells.
type dialer struct {
	mu  sync.Mutex
	err error // of the last attempt
}

func (d *dialer) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	c, err := net.DialTimeout(network, address, timeout)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err = err
	return c, err
}

func (d *dialer) failure() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}
