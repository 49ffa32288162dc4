package redlock

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Ping implements [driver.Pinger]. It returns nil if a quorum of the nodes answers.
// Otherwise the error says which nodes do not answer, and why.
func (b *Backend) Ping(ctx context.Context) error {
	answers := make(chan error, len(b.nodes))
	op := func(ctx context.Context, c redis.UniversalClient) (int64, error) {
		return blessScript.Run(ctx, c, []string{markerKey}, flag(true)).Int64()
	}
	for _, n := range b.nodes {
		send(ctx, n, b.opts.nodeTimeout, op, func(_ int64, _ bool, err error) { answers <- err })
	}
	var errs []error
	for votes := 0; ; {
		select {
		case err := <-answers:
			if err != nil {
				errs = append(errs, err)
			} else {
				votes++
			}
		case <-ctx.Done():
			return ctx.Err()
		}
		switch {
		case votes >= b.quorum:
			return nil
		case len(errs) > len(b.nodes)-b.quorum:
			return &quorumError{len(b.nodes), errs}
		}
	}
}
