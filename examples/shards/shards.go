// Package shards divides work among the workers that are there: each shard has at most one,
// and they have about the same number. Copy it.
//
//	err := shards.Run(ctx, locker, "mail", 64, distlock.Opts{KeyTimeout: 10 * time.Second}, send)
//
// A worker is a key in the store, and so is a shard that somebody works on. When a worker
// comes, the others give shards back. When one goes, or is killed, the others take its shards,
// in the second case after KeyTimeout.
package shards

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/driver"
)

// look is how often a worker looks who else is there.
const look = time.Second

// Run works on its part of n shards until ctx ends. It calls fn with the number of a shard,
// from 0, on a goroutine. When the context of fn ends, the shard goes to another worker: fn
// must return soon. With a lost lease it may have one already, so what fn writes should carry
// the token of its lease. If fn returns before, a worker begins the shard again.
//
// All workers must have the same name, n and KeyTimeout. The backend must be a
// driver.Inspector. Run returns the cause of the end of ctx, or the error with which the
// worker was refused, or an error that wraps [distlock.ErrLost]: call it again then.
func Run(ctx context.Context, l *distlock.Locker, name string, n int, o distlock.Opts, fn func(ctx context.Context, shard int)) error {
	o.Prefix, o.Value, o.RetryCount = "shards:"+name+":", "", 0
	member, self := o, uuid.NewString()
	member.Prefix = "workers:" + name + ":"
	return l.Do(ctx, self, member, func(ctx context.Context) error {
		w := &worker{Locker: l, opts: o, fn: fn, working: make(map[int]context.CancelFunc)}
		defer w.all.Wait()
		for {
			members, err := admin.Inspect(ctx, l, member.Prefix, 10_000) // by key
			rank := slices.IndexFunc(members, func(m driver.KeyInfo) bool { return m.Key == member.Prefix+self })
			if err == nil && rank >= 0 { // otherwise it keeps what it has
				quota := (n + len(members) - 1 - rank) / len(members) // all quotas together are n
				w.giveBack(quota)
				w.take(ctx, n, quota)
			}
			select {
			case <-time.After(look):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	})
}

type worker struct {
	*distlock.Locker
	opts distlock.Opts
	fn   func(ctx context.Context, shard int)
	all  sync.WaitGroup

	mu      sync.Mutex
	working map[int]context.CancelFunc // by shard, until it is released; nil: stopped
	stopped int                        // of these
}

// giveBack stops the work on shards above the quota.
func (w *worker) giveBack(quota int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for shard, stop := range w.working {
		if len(w.working)-w.stopped > quota && stop != nil {
			w.working[shard], w.stopped = nil, w.stopped+1
			stop()
		}
	}
}

// take works on shards that nobody works on, up to the quota.
func (w *worker) take(ctx context.Context, n, quota int) {
	for _, shard := range rand.Perm(n) {
		w.mu.Lock()
		_, mine := w.working[shard]
		full := len(w.working) >= quota
		w.mu.Unlock()
		if full {
			return
		}
		if mine {
			continue
		}
		lease, err := w.TryAcquire(ctx, strconv.Itoa(shard), w.opts)
		if err != nil {
			continue // another worker has it, or the store is away
		}
		work, stop := context.WithCancel(lease.Context())
		w.mu.Lock()
		w.working[shard] = stop
		w.mu.Unlock()
		w.all.Go(func() {
			w.fn(work, shard)
			stop()
			_ = lease.Release(work) // if it fails, the lease ends by itself
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.working[shard] == nil {
				w.stopped--
			}
			delete(w.working, shard)
		})
	}
}
