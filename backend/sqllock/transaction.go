package sqllock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/distlock-go/distlock/internal/clock"
	"github.com/distlock-go/distlock/internal/rolling"
	"github.com/distlock-go/distlock/internal/text"
)

// attempts is how often an operation is tried if the connection was of no use.
const attempts = 8

// do calls f with a connection, within the time for one operation. If the database
// undoes what f did because of a conflict, it calls f again. It also does if the
// connection was silent for half of the time, unless f is a release, and repeats a
// renewal if it was broken: for the same owner that does no harm. The other connections
// may have died, too.
func (b *Backend) do(ctx context.Context, why purpose, f func(ctx context.Context, c *sql.Conn) error) error {
	op, cancel := rolling.Within(ctx, b.config.OpTimeout, nil)
	defer cancel()
	for i := 1; ; i++ {
		silent := false
		err := b.pool.use(op, why, func(c *sql.Conn) error {
			end, ok := op.Deadline()
			if !ok || i > 1 || why == forRelease || !b.pool.remote {
				return f(op, c)
			}
			try, stop := context.WithTimeout(op, time.Until(end)/2)
			defer stop()
			err := f(try, c)
			silent = err != nil && try.Err() != nil && op.Err() == nil
			return err
		})
		if silent {
			b.pool.askIdle(op, time.Now())
		}
		again := silent || useless(err) || why == forRenewal && b.broken(err)
		switch {
		case err == nil:
			return nil
		case !undone(err) && (!again || i >= attempts),
			!clock.Sleep(op, time.Millisecond+rand.N(time.Duration(min(i, 20))*time.Millisecond)):
			return b.failure(err)
		}
	}
}

// transact is do for several statements that take effect together, or not at all.
func (b *Backend) transact(ctx context.Context, why purpose, f func(ctx context.Context, c *sql.Conn) error) error {
	begin, end := b.dialect.transaction(b.config.OpTimeout)
	return b.do(ctx, why, func(op context.Context, c *sql.Conn) (err error) {
		for i := 0; err == nil && i < len(begin); i++ {
			_, err = c.ExecContext(op, begin[i])
		}
		if err == nil {
			err = f(op, c)
		}
		if err == nil {
			_, err = c.ExecContext(op, "COMMIT")
		}
		if err != nil {
			finish(op, c, "ROLLBACK")
		}
		finish(op, c, end...)
		return err
	})
}

// transaction returns the statements that begin a transaction, and the statements after
// its end. The methods of [sql.Tx] would do, but Commit has no time limit in every
// driver: the driver of MySQL waits without end for an answer that was lost.
//
// Each statement must see what was committed before it: in a snapshot the rows that a
// lock has waited for would look as they were before. In SQLite a transaction that
// begins as a reader cannot become a writer when another one has written in between.
//
// A server ends a transaction that is idle for longer than one operation may last: a
// process that was paused or cut off in between would keep others from the key.
func (d Dialect) transaction(longest time.Duration) (begin, end []string) {
	switch d {
	case Postgres:
		return []string{"BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL client_encoding = 'UTF8'; SET LOCAL idle_in_transaction_session_timeout = " +
			strconv.FormatInt(longest.Milliseconds(), 10)}, nil
	case MySQL:
		return []string{
			// In a session that is spoiled the number is too large, which is the error 1690.
			"SET @distlock_wait_timeout = @@SESSION.wait_timeout, SESSION wait_timeout = (" + recoded + " OR " + stopped + ") * 9223372036854775807 * 2 + " + strconv.Itoa(int(math.Ceil(longest.Seconds()))) +
				", @distlock_lock_wait_timeout = @@SESSION.innodb_lock_wait_timeout, SESSION innodb_lock_wait_timeout = " + strconv.Itoa(max(1, int(longest.Seconds()/2))),
			"SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
			"START TRANSACTION",
		}, []string{"SET SESSION wait_timeout = @distlock_wait_timeout, SESSION innodb_lock_wait_timeout = @distlock_lock_wait_timeout"}
	default:
		return []string{"BEGIN IMMEDIATE"}, nil
	}
}

// finish executes statements, also if the time for the operation is over. If one fails,
// the connection is closed.
func finish(ctx context.Context, c *sql.Conn, statements ...string) {
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	for _, s := range statements {
		_, err := c.ExecContext(own, s)
		if err != nil && !strings.Contains(err.Error(), "no transaction is active") {
			discard(c)
			return
		}
	}
}

// failure returns the error of an operation.
func (b *Backend) failure(err error) error {
	if noTable(err) { // perhaps dropped after the first use
		err = fmt.Errorf("%w: %q: CreateTable creates it: %s", ErrNoTable, b.config.Table, text.OneLine(err))
	}
	_, unsent := errors.AsType[unsentError](err)
	e := &storeError{dialect: b.dialect, err: err, unsent: unsent}
	switch {
	case errors.Is(err, errNoConn):
		e.err = errNoConn
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		e.err, e.cause = errNoAnswer, err
	}
	if r := remedy(err); r != "" && e.cause == nil {
		e.cause = errors.New(r)
	}
	return e
}

// broken reports whether the connection has ended before there was an answer, or the
// database has ended the statement for a reason that has nothing to do with it.
func (b *Backend) broken(err error) bool {
	switch code(err) {
	case "":
		if b.dialect == SQLite {
			return false // it has no network
		}
		for _, e := range []error{errNoAnswer, errNoConn, errGuarded, errUnfit, context.Canceled, context.DeadlineExceeded} {
			if errors.Is(err, e) {
				return false
			}
		}
		return true
	case "57014", "1317":
		return true
	default:
		return ended(err)
	}
}
