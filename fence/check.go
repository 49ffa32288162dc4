package fence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
)

// ErrStale says that a later holder of the lock has shown its ticket.
var ErrStale = errors.New("fence: stale ticket: a later holder of the lock has been here")

// TicketError says why the tickets of a call are refused.
type TicketError struct{ Detail string }

// Error returns the detail.
func (e *TicketError) Error() string { return "fence: the ticket " + e.Detail }

// ErrNoTicket says that the caller does not hold the lock alone, or has not sent its ticket.
var ErrNoTicket error = &TicketError{"is missing"}

// Ticket is what a holder shows: a [*distlock.Lease], or what came of one with a call.
//
// [*distlock.Lease]: https://pkg.go.dev/github.com/distlock-go/distlock#Lease
type Ticket interface {
	Key() string   // the full key of the lock, which names the resource
	Token() uint64 // rises from holder to holder; 0 if the store has no tokens
}

// Tx is a transaction: a [*sql.Tx]. A [*sql.DB] is none, because each of its statements is
// committed alone, and neither is a [*sql.Conn], which may be outside of one.
type Tx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	Commit() error
	Rollback() error
}

// Dialect is the SQL of one kind of database.
type Dialect int

// The dialects. The zero value is not one.
const (
	Postgres Dialect = iota + 1 // PostgreSQL 9.5 or later
	MySQL                       // MySQL 8.0 or later, MariaDB 10.6 or later
	SQLite                      // SQLite 3.24 or later
)

const maxKey = 255 // bytes, more than a lock's key has

// Schema returns the statement that creates the table distlock_fence in the current schema,
// unless it exists. It has a row for each key that was shown.
func (d Dialect) Schema() string {
	key, with := "text", ""
	switch d {
	case Postgres:
		key = `text COLLATE "C"`
	case MySQL: // compares bytes, in transactions
		key, with = "varbinary(255)", " ENGINE=InnoDB"
	}
	return "CREATE TABLE IF NOT EXISTS distlock_fence (resource " + key + " NOT NULL PRIMARY KEY, token bigint NOT NULL)" + with
}

// show changes no row if a later token has been seen. MySQL counts none either if the token is
// the same, so showMySQL returns the token as the last ID, and 0 for a stale one.
const (
	show = `INSERT INTO distlock_fence AS seen (resource, token) VALUES ($1, $2)
ON CONFLICT (resource) DO UPDATE SET token = excluded.token WHERE seen.token <= excluded.token`

	showMySQL = `INSERT INTO distlock_fence (resource, token) VALUES (?, LAST_INSERT_ID(?))
ON DUPLICATE KEY UPDATE token = GREATEST(token, LAST_INSERT_ID(IF(token <= ?, ?, 0)))`
)

// Check shows the ticket in the transaction that changes the data. If it returns nil, no later
// holder has shown one for the key, and none can until tx has ended; otherwise roll back. The
// error is [ErrStale], [ErrNoTicket] for a nil Ticket, or for a lease that is over an error
// that matches distlock.ErrLost.
//
// Call Check before tx reads anything: it waits for an open transaction of another holder, and
// what was read before may be older than what that one writes. A rollback to a savepoint
// above it undoes it. Above READ COMMITTED a database may fail instead of waiting, with its
// error for a transaction that has to be repeated.
func (d Dialect) Check(ctx context.Context, tx Tx, t Ticket) error {
	key, token, err := valid(t)
	if err != nil {
		return err
	}
	query, args, shown := show, []any{key, token}, sql.Result.RowsAffected
	switch d {
	case Postgres, SQLite:
	case MySQL:
		query, args, shown = showMySQL, append(args, token, token), sql.Result.LastInsertId
	default:
		return fmt.Errorf("fence: Dialect(%d) is unknown", d)
	}
	var n int64
	result, err := tx.ExecContext(ctx, query, args...)
	if err == nil {
		n, err = shown(result)
	}
	switch {
	case err != nil && strings.Contains(err.Error(), "distlock_fence"):
		return fmt.Errorf("fence: %w (Dialect.Schema has the statement that creates the table)", err)
	case err != nil:
		return fmt.Errorf("fence: %w", err)
	case n == 0:
		return fmt.Errorf("%w: %q, token %d", ErrStale, key, token)
	default:
		return nil
	}
}

// valid returns what a ticket says, or what is wrong with it.
func valid(t Ticket) (key string, token int64, err error) {
	if v := reflect.ValueOf(t); t == nil || v.Kind() == reflect.Pointer && v.IsNil() { // as distlock.FromContext returns without a lock
		return "", 0, ErrNoTicket
	}
	if err := over(t); err != nil {
		return "", 0, err
	}
	key = t.Key()
	switch n := t.Token(); {
	case key == "" || len(key) > maxKey:
		return "", 0, fmt.Errorf("fence: a key of %d bytes: 1 to %d are possible", len(key), maxKey)
	case n == 0:
		return "", 0, fmt.Errorf("fence: the lease of %q has no token: Opts.Fencing demands one", key)
	case n > math.MaxInt64:
		return "", 0, fmt.Errorf("fence: the token of %q is larger than a bigint: %d", key, n)
	default:
		return key, int64(n), nil
	}
}

// over returns why the lease is over by the clocks of this process, if the ticket is a lease.
func over(t Ticket) error {
	if lease, ok := t.(interface{ Check() error }); ok {
		return lease.Check()
	}
	return nil
}

// Lua begins a script for Redis that uses a hash. KEYS[1] is the hash, whose field token has
// the largest token, and ARGV[1] is the token of the caller, in decimal. A smaller token is
// refused with the error STALE, and anything but a token with NOTOKEN.
const Lua = `
local seen, mine = redis.call('HGET', KEYS[1], 'token') or '0', ARGV[1]
if not string.find(mine, '^[1-9]%d*$') then return redis.error_reply('NOTOKEN the first argument is not a token') end
if #mine < #seen or #mine == #seen and mine < seen then return redis.error_reply('STALE a later holder has been here') end
if mine ~= seen then redis.call('HSET', KEYS[1], 'token', mine) end
`
