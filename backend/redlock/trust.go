package redlock

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// blessPause is how long bless waits before it looks again.
const blessPause = 10 * time.Millisecond

// bless trusts all nodes, if all of them answer and none was used before. One
// that was says that there is a fleet with a memory, and then a node that has
// none has lost it; or that another process is just doing the same, which is
// waited for a little: to use a node before it has come there would be what makes
// it one that may have lost something.
func (b *Backend) bless(ctx context.Context) {
	defer close(b.started)
	for start := time.Now(); ; {
		switch known, ok := b.askMemory(ctx, true); {
		case !ok || known == len(b.nodes):
			return
		case known == 0:
			b.askMemory(ctx, false)
			return
		case time.Since(start) >= b.opts.nodeTimeout:
			return
		}
		pause := time.NewTimer(blessPause)
		select {
		case <-pause.C:
		case <-b.background.Done():
			pause.Stop()
			return
		}
	}
}

// askMemory asks all nodes whether something is known of their memory, and trusts
// those of which nothing is, unless it is only to look. It returns of how many
// something is known, and false if one of them did not answer.
func (b *Backend) askMemory(ctx context.Context, look bool) (known int, ok bool) {
	type answer struct {
		known int64
		err   error
	}
	answers := make(chan answer, len(b.nodes))
	for _, n := range b.nodes {
		op := func(ctx context.Context, c redis.UniversalClient) (int64, error) {
			return blessScript.Run(ctx, c, []string{markerKey}, flag(look)).Int64()
		}
		send(ctx, n, b.opts.nodeTimeout, op, func(known int64, _ bool, err error) { answers <- answer{known, err} })
	}
	ok = true
	for range b.nodes {
		a := <-answers
		known += int(a.known)
		ok = ok && a.err == nil
	}
	return known, ok
}

// trusted reports whether a node that has forgotten nothing for so long counts.
// Every lease that it may have forgotten before is over.
func (b *Backend) trusted(memory time.Duration) bool {
	return memory >= onNode(b.opts.maxLease)
}

// youngError says that a node has the key for this owner, and does not count.
type youngError struct {
	memory, need time.Duration
}

func (e *youngError) Error() string {
	return fmt.Sprintf("does not count: it may have lost its data %v ago, and counts after %v",
		e.memory.Truncate(time.Millisecond), e.need)
}
