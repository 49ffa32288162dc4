package backendurl

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/distlock-go/distlock/backend/zklock"
)

func openZooKeeper(ctx context.Context, rawURL string) (*Backend, error) {
	servers, opts, err := parseZooKeeper(rawURL)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrURL, err)
	}
	b, err := zklock.New(servers, append(opts, zklock.WithLogger(slog.Default()))...)
	if err != nil {
		if _, isDNS := errors.AsType[*net.DNSError](err); isDNS {
			return nil, err
		}
		return nil, fmt.Errorf("%w: %w", ErrURL, err)
	}
	if err := reachZooKeeper(ctx, b); err != nil {
		_ = b.Close() // it never worked
		return nil, err
	}
	return &Backend{Backend: b, end: b.Close}, nil
}

// reachZooKeeper asks for a sign of life of those who have the majority. A server
// that does not answer costs a second before the next one is tried, so that one
// failure says little.
func reachZooKeeper(ctx context.Context, b *zklock.Backend) error {
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
			return fmt.Errorf("no answer within %v: %w", reachTimeout, err)
		}
	}
}

// retryPause is for failures that take no time themselves.
const retryPause = 50 * time.Millisecond
