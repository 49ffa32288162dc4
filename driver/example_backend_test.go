package driver_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
)

// tableLock keeps locks in a table with a row for each key. A mutex makes each method one
// step; with a database that is one statement or one transaction.
type tableLock struct {
	mu   sync.Mutex
	rows map[string]row
}

type row struct {
	owner   string
	expires time.Time // zero after a release
	token   uint64    // never becomes smaller
}

// extend never shortens a lease: the request may be late.
func (r *row) extend(end time.Time) {
	if end.After(r.expires) {
		r.expires = end
	}
}

var _ driver.Backend = (*tableLock)(nil)

func newTableLock() *tableLock { return &tableLock{rows: make(map[string]row)} }

func (b *tableLock) Features() driver.Features { return driver.Features{} }

func (b *tableLock) TryAcquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if err := ctx.Err(); err != nil {
		return driver.Grant{}, err
	}
	g := r.Grant()
	g.Sent = time.Now() // before the request is sent
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now() // the clock of the store
	old, held := b.rows[r.Key], now.Before(b.rows[r.Key].expires)
	if held && old.owner != r.Owner {
		return driver.Grant{}, &driver.HeldError{RetryAfter: old.expires.Sub(now), Holder: driver.HolderOf(old.owner)}
	}
	if !held { // otherwise the owner gets the same token again
		old = row{owner: r.Owner, token: old.token + 1}
	}
	old.extend(now.Add(r.TTL))
	b.rows[r.Key] = old
	g.Token, g.LastToken = old.token, old.token
	return g, nil
}

func (b *tableLock) Renew(ctx context.Context, grants []driver.Grant, report func(int, driver.RenewResult)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	for i, g := range grants {
		old := b.rows[g.Key]
		switch {
		case ctx.Err() != nil:
			report(i, driver.RenewResult{Status: driver.Unknown, Err: ctx.Err()})
		case old.owner != g.Owner || !now.Before(old.expires):
			report(i, driver.RenewResult{Status: driver.Lost})
		default:
			if g.Retain {
				old.expires = time.Time{} // it may be shortened
			}
			old.extend(now.Add(g.TTL))
			b.rows[g.Key] = old
			report(i, driver.RenewResult{Status: driver.Renewed})
		}
	}
}

func (b *tableLock) Release(ctx context.Context, g driver.Grant) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	old := b.rows[g.Key]
	switch {
	case old.owner == g.Owner:
		old.expires = time.Time{} // the row stays, because of the token
		b.rows[g.Key] = old
		return nil
	case time.Now().Before(old.expires):
		return fmt.Errorf("another owner has the key: %w", driver.ErrLost)
	default:
		return nil // nobody has the key
	}
}

// Example_backend demonstrates a complete backend: the three methods of a store, and
// Features. A Locker adds the rest.
func Example_backend() {
	locker := distlock.New(newTableLock(), distlock.Config{})
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
