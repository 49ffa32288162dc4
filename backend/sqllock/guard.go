package sqllock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/distlock-go/distlock/internal/leasestate"
)

// Lease is what [Backend.Guard] needs of a lease. A [*distlock.Lease] is one.
//
// [*distlock.Lease]: https://pkg.go.dev/github.com/distlock-go/distlock#Lease
type Lease interface {
	Key() string
	Token() uint64
}

// Guard makes tx depend on the lease: if it returns nil, no other holder gets the key
// before tx has ended, even if the lease ends before. Otherwise the transaction must be
// rolled back. The error matches [ErrStale] if the lease is not the newest, which the
// database decides and no clock. So a holder that was stopped in front of its write,
// for however long, cannot write. A lease that is over by its own Check is refused,
// too.
//
// The lease must be exclusive, and tx must be on the same database as the tables of the
// locks. Call Guard first in the transaction, and commit before the lock is released: a
// release waits for tx. For that, the lease is not handed over to the next caller in
// this process, but given back to the database. In PostgreSQL, Guard below a savepoint
// fails, because a rollback to the savepoint would undo it. In MySQL a rollback to a
// savepoint may do that, too: call Guard again after it, which fails if the key was
// taken meanwhile. While tx is open, the holder's renewals go on in PostgreSQL and
// MySQL. SQLite has one writer at a time, so there they wait for tx. The first call for
// a key notes that in its row, on a connection of the Backend. Do not prepare tx with XA
// in MySQL, which forgets what it has locked: package fence is for that.
func (b *Backend) Guard(ctx context.Context, tx Tx, lease Lease) error {
	if l, ok := lease.(interface{ Context() context.Context }); ok {
		if bind, ok := l.Context().Value(leasestate.Binder{}).(func()); ok {
			bind() // before the check: a lease that is handed over until then is over
		}
	}
	if l, ok := lease.(interface{ Check() error }); ok {
		// The next holder in this process may have a token of the same grant.
		if err := l.Check(); err != nil {
			return fmt.Errorf("%w: %w", ErrStale, err)
		}
	}
	key, token := lease.Key(), int64(lease.Token())
	if token == 0 {
		return errors.New("sqllock: Guard: the lease has no token")
	}
	if b.dialect == MySQL { // the row that the statement locks must exist
		if _, err := b.prepareGuard(ctx, key, token); err != nil {
			return err
		}
	}
	v := values{"key": key, "token": token}
	var mark int64 // 0 if a release may still pass over what the statement has locked
	err := b.sql.guard.row(ctx, tx, v).Scan(&mark)
	switch {
	case err == nil && mark == belowSavepoint:
		return errors.New("sqllock: Guard: below a savepoint, and a rollback to it would undo this: call Guard first in the transaction")
	case err == nil && mark != 0:
		return nil
	case err == nil:
		if newest, err := b.prepareGuard(ctx, key, token); newest || err != nil {
			return err
		}
		return ErrStale
	case !errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("sqllock: Guard: %w", err)
	case b.sql.guardMember.row(ctx, tx, v).Scan(&mark) == nil:
		return fmt.Errorf("sqllock: Guard: a lease that is shared: %w", errors.ErrUnsupported)
	}
	if err := b.dialect.fits(ctx, tx); errors.Is(err, errReadOnly) { // it does not know the newest lease
		return fmt.Errorf("sqllock: Guard: %w", err)
	}
	return ErrStale
}

// prepareGuard notes that Guard was called for the key: from then on, what takes the
// key from its holder looks for guarded transactions first. It reports whether the
// token was still of the exclusive holder at that moment.
//
// In MySQL it adds the row that Guard locks, so Guard calls it first, and the row says
// whether the token is stale. In PostgreSQL Guard calls it when it has locked the row
// of the key, which costs nothing if it is noted already. A release in between did not
// look, and then the token is not of the holder any more.
func (b *Backend) prepareGuard(ctx context.Context, key string, token int64) (newest bool, err error) {
	if b.dialect == MySQL {
		e, err := b.peek(ctx, forRelease, key)
		if err != nil || e.guarded {
			return true, err
		}
	}
	err = b.transact(ctx, forRelease, func(ctx context.Context, c *sql.Conn) error {
		e, err := b.load(ctx, c, key, false)
		if err != nil {
			return err
		}
		newest = e.owner != "" && e.prior < token && token <= e.token
		if e.token == 0 || e.guarded { // the key has no row, or its row says so already
			return nil
		}
		if b.dialect == MySQL {
			closed := e.prior
			if e.owner == "" {
				closed = e.token
			}
			if _, err := b.sql.addGuard.exec(ctx, c, values{"key": key, "token": closed}); err != nil {
				return err
			}
		}
		_, err = b.sql.setGuarded.exec(ctx, c, values{"key": key})
		return err
	})
	return newest, err
}
