package backendurl

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/distlock-go/distlock/backend/zklock"
)

func openZooKeeper(ctx context.Context, rawURL string) (*Backend, error) {
	z, err := parseZooKeeper(rawURL)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrURL, err)
	}
	b, err := zklock.New(z.Servers, z.options()...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrURL, err)
	}
	if err := reachZooKeeper(ctx, b); err != nil {
		_ = b.Close() // it was never used
		return nil, err
	}
	return &Backend{Backend: b, end: b.Close}, nil
}

// reachZooKeeper asks for an answer from a server with a majority. A server that does
// not answer costs a second before the client tries the next one, so a single failure
// does not mean much.
func reachZooKeeper(ctx context.Context, b *zklock.Backend) error {
	reach, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	for {
		_, err := b.Inspect(reach, "", 0) // an empty prefix and a limit of 0: no keys are read
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, zk.ErrNoAuth): // an answer, too
			return fmt.Errorf("%w: the nodes belong to another user", err)
		}
		select {
		case <-time.After(retryPause):
		case <-reach.Done():
			return fmt.Errorf("no answer within %v: %w", reachTimeout, err)
		}
	}
}

// retryPause is for errors that come at once.
const retryPause = 50 * time.Millisecond
