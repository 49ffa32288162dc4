package sqllock

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"strings"
	"time"
)

// querier is a connection or a transaction.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// attempts is how often an operation is tried that the database undoes because of others.
// SQLite also says so while any other transaction writes, so there only the time counts.
const attempts = 8

// do calls f with a connection, within the time for one operation. If the database undoes
// what f did because of a conflict, it calls f again.
func (b *Backend) do(ctx context.Context, why purpose, f func(ctx context.Context, c *sql.Conn) error) error {
	op, cancel := context.WithTimeout(ctx, b.opts.opTimeout)
	defer cancel()
	for i := 1; ; i++ {
		err := b.pool.use(op, why, func(c *sql.Conn) error { return f(op, c) })
		switch {
		case err == nil:
			return nil
		case !undone(err), b.dialect != SQLite && i >= attempts, !sleep(op, time.Millisecond+rand.N(time.Duration(min(i, 20))*time.Millisecond)):
			return b.failure(ctx, err)
		}
	}
}

// sleep returns false if ctx ends before d has passed.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// transact is do for several statements that take effect together, or not at all.
func (b *Backend) transact(ctx context.Context, why purpose, f func(ctx context.Context, q querier) error) error {
	return b.do(ctx, why, func(op context.Context, c *sql.Conn) error {
		for _, s := range b.dialect.begin() {
			if _, err := c.ExecContext(op, s); err != nil {
				if op.Err() != nil { // it may have begun
					rollBack(op, c)
				}
				return err
			}
		}
		err := f(op, c)
		if err == nil {
			_, err = c.ExecContext(op, "COMMIT")
		}
		if err != nil {
			rollBack(op, c)
		}
		return err
	})
}

// begin returns the statements that begin a transaction. The methods of [sql.Tx] would do,
// but Commit has no time limit in every driver: that of MySQL waits forever for an answer
// that was lost.
//
// Each statement must see what was committed before it: in a snapshot the rows that a lock
// has waited for would look as they were before. In SQLite a transaction that begins as a
// reader cannot become a writer when another one has written in between.
func (d Dialect) begin() []string {
	switch d {
	case Postgres:
		return []string{"BEGIN ISOLATION LEVEL READ COMMITTED"}
	case MySQL:
		return []string{"SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "START TRANSACTION"}
	default:
		return []string{"BEGIN IMMEDIATE"}
	}
}

// rollBack undoes a transaction. If that fails the connection is closed.
func rollBack(ctx context.Context, c *sql.Conn) {
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_, err := c.ExecContext(own, "ROLLBACK")
	if err != nil && !strings.Contains(err.Error(), "no transaction is active") {
		_ = c.Raw(func(any) error { return errBadConn })
	}
}
