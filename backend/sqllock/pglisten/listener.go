// Package pglisten lets the waiters for locks on PostgreSQL listen for a release.
// Without it they ask for the lock again and again.
package pglisten

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/distlock-go/distlock/backend/sqllock"
)

// A connection without messages is checked every checkInterval. An answer that takes
// longer than checkTimeout means that the connection is lost.
const (
	checkInterval = 15 * time.Second
	checkTimeout  = 5 * time.Second
)

// Listener is a [sqllock.Listener] that uses pgx.
type Listener struct {
	config   *pgx.ConnConfig
	before   []func(context.Context, *pgx.ConnConfig) error
	interval time.Duration
	timeout  time.Duration
}

var _ sqllock.Listener = (*Listener)(nil)

// New returns a listener that connects to the database of config, which
// [pgx.ParseConfig] has made. It has to be the database with the table of the locks. A
// pooler in between, such as PgBouncer, must not be in transaction mode: it does not
// pass messages on.
//
// Names of hosts are resolved for each connection. Each of beforeConnect is called
// before each connection with a copy of config, which it may change: for a password or
// a certificate that ends, as with stdlib.OptionBeforeConnect.
func New(config *pgx.ConnConfig, beforeConnect ...func(context.Context, *pgx.ConnConfig) error) *Listener {
	return &Listener{config: config.Copy(), before: beforeConnect, interval: checkInterval, timeout: checkTimeout}
}

// Listen implements [sqllock.Listener].
func (l *Listener) Listen(ctx context.Context, channel string, listening func(), heard func(payload string)) error {
	c, err := l.connect(ctx, channel)
	if err != nil {
		return err
	}
	defer l.close(ctx, c)
	listening()
	for {
		n, err := l.next(ctx, c)
		switch {
		case err == nil:
			heard(n.Payload)
		case ctx.Err() != nil || !pgconn.Timeout(err):
			return err
		default:
			if err := l.check(ctx, c); err != nil {
				return err
			}
		}
	}
}

// connect opens a connection that listens.
func (l *Listener) connect(ctx context.Context, channel string) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	config := l.config.Copy()
	for _, before := range l.before {
		if err := before(ctx, config); err != nil {
			return nil, err
		}
	}
	c, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	if err = l.check(ctx, c); err == nil {
		_, err = c.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize())
	}
	if err != nil {
		l.close(ctx, c)
		return nil, err
	}
	return c, nil
}

// next waits for a message, for the interval between checks at most.
func (l *Listener) next(ctx context.Context, c *pgx.Conn) (*pgconn.Notification, error) {
	ctx, cancel := context.WithTimeout(ctx, l.interval)
	defer cancel()
	return c.WaitForNotification(ctx)
}

// check asks the server for an answer, and whether it still is the primary: the address
// may lead to another server by now, and no message comes from a former one.
func (l *Listener) check(ctx context.Context, c *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	var writes string
	err := c.QueryRow(ctx, "SHOW default_transaction_read_only").Scan(&writes)
	if err == nil && writes == "on" {
		err = errReadOnly
	}
	return err
}

var errReadOnly = errors.New("pglisten: the server is read-only")

// close closes a connection, also after ctx has ended.
func (l *Listener) close(ctx context.Context, c *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.timeout)
	defer cancel()
	_ = c.Close(ctx) // the server notices the end of the connection in any case
}
