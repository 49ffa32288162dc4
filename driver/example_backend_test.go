package driver_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
)

// cells is what the store needs of a server: a value for each key, with a version. The
// version of a write is larger than all before it, also after a deletion: a revision of
// etcd or a sequence of NATS. Of an ETag take the counter that the value has.
type cells interface {
	// Load must not be answered by a replica that is behind. The version of a key without
	// a value is 0.
	Load(ctx context.Context, key string) (v cell, version uint64, err error)

	// Swap writes v if the key still has the version, and returns the new one. Otherwise
	// the error is errChanged.
	Swap(ctx context.Context, key string, version uint64, v cell) (uint64, error)
}

type cell struct {
	owner string        // "" after a release
	lease time.Duration // from the write
}

var errChanged = errors.New("the key has another version")

// casLock keeps each lock in a cell. The server tells no time, so a lease ends when this
// process has seen one version for as long: a newcomer waits for up to a lease more.
type casLock struct {
	cells cells
	mu    sync.Mutex
	seen  map[string]sight
}

// sight is when this process first saw a version of a key.
type sight struct {
	version uint64
	at      time.Time
}

var _ driver.Backend = (*casLock)(nil)

func newCASLock(c cells) *casLock { return &casLock{cells: c, seen: make(map[string]sight)} }

func (b *casLock) Features() driver.Features { return driver.Features{} }

// left returns how long the lease in v still lasts; 0 means that the key is free.
func (b *casLock) left(key string, v cell, version uint64) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.seen[key].version < version {
		b.seen[key] = sight{version, time.Now()}
	}
	if v.owner == "" {
		return 0
	}
	return max(0, v.lease-time.Since(b.seen[key].at))
}

// change replaces the cell of a key by what decide makes of it, and returns its version.
// If another write comes in between, it looks and decides again.
func (b *casLock) change(
	ctx context.Context, key string, decide func(v cell, left time.Duration) (cell, error),
) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second) // a hung server hangs no caller
	defer cancel()
	for {
		v, version, err := b.cells.Load(ctx, key)
		if err != nil {
			return 0, err
		}
		if v, err = decide(v, b.left(key, v, version)); err != nil {
			return 0, err
		}
		version, err = b.cells.Swap(ctx, key, version, v)
		if err == nil {
			b.left(key, v, version) // the lease counts from here
		}
		if !errors.Is(err, errChanged) {
			return version, err
		}
	}
}

func (b *casLock) TryAcquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g := r.Grant()
	version, err := b.change(ctx, r.Key, func(v cell, left time.Duration) (cell, error) {
		g.Sent = time.Now() // before the write is sent
		if left > 0 && v.owner != r.Owner {
			return v, &driver.HeldError{RetryAfter: left, Holder: driver.HolderOf(v.owner)}
		}
		return cell{r.Owner, max(r.TTL, left)}, nil // a late request shortens nothing
	})
	if err != nil {
		return driver.Grant{}, err
	}
	g.Token, g.LastToken = version, version
	return g, nil
}

func (b *casLock) Renew(ctx context.Context, grants []driver.Grant, report func(int, error)) {
	var all sync.WaitGroup
	turns := make(chan struct{}, 16) // thousands of grants may come at once
	for i, g := range grants {
		all.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			_, err := b.change(ctx, g.Key, func(v cell, left time.Duration) (cell, error) {
				switch {
				case v.owner != g.Owner || left == 0:
					return v, driver.ErrLost
				case g.Retain: // the last renewal may shorten the lease
					return cell{g.Owner, g.TTL}, nil
				}
				return cell{g.Owner, max(g.TTL, left)}, nil
			})
			report(i, err)
		})
	}
	all.Wait()
}

func (b *casLock) Release(ctx context.Context, g driver.Grant) error {
	_, err := b.change(ctx, g.Key, func(v cell, left time.Duration) (cell, error) {
		if left > 0 && v.owner != g.Owner {
			return v, fmt.Errorf("another owner has the key: %w", driver.ErrLost)
		}
		return cell{}, nil // also if the key is free: an attempt that is on its way then fits no more
	})
	return err
}

// Example_backend demonstrates a complete backend: the three methods of a store, and
// Features. A Locker adds the rest.
func Example_backend() {
	locker := distlock.New(newCASLock(newServer()), distlock.Config{})
	defer locker.Close()

	err := locker.Do(context.Background(), "order-42", distlock.Opts{}, func(ctx context.Context) error {
		lease, _ := distlock.FromContext(ctx)
		fmt.Println("paying with token", lease.Token())
		return nil
	})
	fmt.Println("error:", err)
	// Output:
	// paying with token 1
	// error: <nil>
}
