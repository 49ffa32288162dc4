package sqllock

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"reflect"
	"sync"
	"time"

	"github.com/distlock-go/distlock/internal/rolling"
)

// purpose says what a connection is for.
type purpose int

const (
	forAttempt purpose = iota // it may wait for the application's connections
	forRelease                // it must not
	forRenewal                // it must not, and it is the first to have the reserved connection
)

// briefly is how long a release or a renewal waits for a connection of the pool before
// it takes the reserved one.
const briefly = 50 * time.Millisecond

const (
	// quiet is for how long a connection may be idle before it is asked whether it
	// still works. A network that forgets idle connections, or a machine that is gone,
	// says nothing.
	quiet = time.Second

	// reservedLasts is for how long the same connection is reserved. Then it goes back
	// to the pool, whose limits of time apply to it again.
	reservedLasts = time.Minute
)

// pool has the connections of a Backend. One of them is reserved if their number is
// limited: functions that hold all the others under locks must not keep the Backend
// from renewing these locks.
type pool struct {
	db       *sql.DB
	remote   bool // there is a network in between
	briefly  *rolling.Timeout
	patience *rolling.Timeout // for a connection that was idle
	reserved chan *sql.Conn   // has the reserved connection unless it is in use; nil if it must be opened
	since    time.Time        // when the reserved one was taken; belongs to who has it

	asking sync.Mutex
	mu     sync.Mutex
	asked  time.Time         // when the idle connections were last asked; written with both
	used   map[any]time.Time // when the connections of the driver were last used, as far as known
}

func newPool(db *sql.DB, remote bool, opTimeout time.Duration) *pool {
	p := &pool{
		db: db, remote: remote, briefly: rolling.New(briefly), patience: rolling.New(opTimeout / 6),
		reserved: make(chan *sql.Conn, 1), used: make(map[any]time.Time),
	}
	p.reserved <- nil
	return p
}

// reserve opens the reserved connection if there is none and there should be one,
// within the limit of time.
func (p *pool) reserve(ctx context.Context, limit time.Duration) error {
	if p.db.Stats().MaxOpenConnections < 2 {
		return nil
	}
	select {
	case c := <-p.reserved:
		if c != nil {
			p.reserved <- c
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		if err := p.useReserved(ctx, c, func(*sql.Conn, bool) error { return nil }); err != nil {
			return unsentError{err}
		}
	default: // it is in use
	}
	return nil
}

// use calls f with a connection, and returns the error of f. If the connection was not
// new and is of no use for locks, which costs f nothing, it is closed, and f is called
// with another one: the address may lead to another server by now.
func (p *pool) use(ctx context.Context, why purpose, f func(*sql.Conn) error) error {
	for {
		old, called := p.db.Stats().Idle > 0, false
		err := p.try(ctx, why, func(c *sql.Conn, reserved bool) error {
			old, called = old || reserved, true
			err := f(c)
			if useless(err) || ended(err) {
				discard(c)
			}
			return err
		})
		if err != nil && !called {
			err = unsentError{err}
		}
		if !old || !useless(err) || ctx.Err() != nil {
			return err
		}
	}
}

// unsentError means that the pool had no connection, so that nothing was sent.
type unsentError struct{ error }

func (e unsentError) Unwrap() error { return e.error }

// discard lets the pool close a connection when it is given back.
func discard(c *sql.Conn) { _ = c.Raw(func(any) error { return sqldriver.ErrBadConn }) }

// try calls f with one connection, and tells f whether it is the reserved one.
func (p *pool) try(ctx context.Context, why purpose, f func(c *sql.Conn, reserved bool) error) error {
	stats := p.db.Stats()
	if stats.MaxOpenConnections >= 2 && why == forRenewal {
		select {
		case c := <-p.reserved:
			return p.useReserved(ctx, c, f)
		default:
		}
	}
	wait, take := ctx, p.take
	if stats.MaxOpenConnections >= 2 && why != forAttempt {
		if stats.InUse >= stats.MaxOpenConnections {
			return p.awaitReserved(ctx, f)
		}
		wait, take = p.briefly.Context(ctx, time.Now()), p.takeOne
	}
	c, err := take(wait)
	switch {
	case err == nil:
		defer c.Close() //nolint:errcheck // it goes back to the pool
		return f(c, false)
	case ctx.Err() == nil && over(wait):
		return p.awaitReserved(ctx, f)
	case errors.Is(err, ctx.Err()) && p.usedUp():
		return errors.Join(errNoConn, err)
	}
	return err
}

// take takes a connection from the pool. If one that was idle does not answer, the
// others are asked at the same time: what it has died of they have died of, too.
func (p *pool) take(ctx context.Context) (*sql.Conn, error) {
	if !p.remote || p.db.Stats().Idle == 0 {
		return p.takeOne(ctx)
	}
	begun := time.Now()
	patience := p.patience.Context(ctx, begun)
	c, err := p.takeOne(patience)
	if err == nil || ctx.Err() != nil || !over(patience) {
		return c, err
	}
	if !p.usedUp() { // otherwise it has waited for a connection
		p.askIdle(ctx, begun)
	}
	return p.takeOne(ctx)
}

// over reports whether the time of ctx is over. A dialer may notice that before ctx
// does, and then says something else.
func over(ctx context.Context) bool {
	end, ok := ctx.Deadline()
	return ok && time.Until(end) <= 0
}

// askIdle asks all idle connections whether they work, unless that was done since.
func (p *pool) askIdle(ctx context.Context, since time.Time) {
	p.asking.Lock()
	defer p.asking.Unlock()
	if p.asked.After(since) {
		return
	}
	p.mu.Lock()
	p.asked = time.Now()
	p.mu.Unlock()
	var all sync.WaitGroup
	for range p.db.Stats().Idle {
		all.Go(func() {
			if c, err := p.takeOne(p.patience.Context(ctx, p.asked)); err == nil {
				_ = c.Close()
			}
		})
	}
	all.Wait()
}

// takeOne takes a connection that is new, or was used lately, or answers.
func (p *pool) takeOne(ctx context.Context) (*sql.Conn, error) {
	for {
		fresh := p.db.Stats().Idle == 0
		c, err := p.db.Conn(ctx)
		if err != nil || p.answers(ctx, c, fresh) {
			return c, err
		}
		_ = c.Close()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// answers reports whether an idle connection still works. Otherwise it is discarded.
func (p *pool) answers(ctx context.Context, c *sql.Conn, fresh bool) bool {
	if !p.remote || p.usedLately(c) || fresh {
		return true
	}
	err := c.PingContext(ctx)
	if err != nil {
		discard(c)
	}
	return err == nil
}

// usedLately reports whether the connection was used a moment ago, and since the idle
// ones were asked, and notes that it is now.
func (p *pool) usedLately(c *sql.Conn) (lately bool) {
	_ = c.Raw(func(conn any) error {
		if !reflect.ValueOf(conn).Comparable() {
			return nil
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.used) > 2*p.db.Stats().OpenConnections+16 {
			clear(p.used) // of connections that are closed; the others are asked once more
		}
		now, used := time.Now(), p.used[conn]
		lately = now.Sub(used) < quiet && used.After(p.asked)
		p.used[conn] = now
		return nil
	})
	return lately
}

func (p *pool) usedUp() bool {
	stats := p.db.Stats()
	return stats.MaxOpenConnections > 0 && stats.InUse >= stats.MaxOpenConnections
}

func (p *pool) awaitReserved(ctx context.Context, f func(*sql.Conn, bool) error) error {
	select {
	case c := <-p.reserved:
		return p.useReserved(ctx, c, f)
	case <-ctx.Done():
		return errors.Join(errNoConn, ctx.Err())
	}
}

// useReserved calls f with the reserved connection c, which may be nil. After an error
// that is not the database's, or says that the connection is of no use, the next call
// opens another one.
func (p *pool) useReserved(ctx context.Context, c *sql.Conn, f func(*sql.Conn, bool) error) (err error) {
	had := c != nil
	if had {
		c = p.careFor(ctx, c)
	}
	defer func() {
		if err != nil && c != nil && (code(err) == "" || useless(err)) {
			_ = c.Close()
			c = nil
		}
		p.reserved <- c
	}()
	if c == nil {
		if c, err = p.take(ctx); err != nil {
			return err
		}
		p.since = time.Now()
	}
	return f(c, had)
}

// careFor does for the reserved connection what the pool does for its own: it returns
// nil if the connection is dead, and after a while another one.
func (p *pool) careFor(ctx context.Context, c *sql.Conn) *sql.Conn {
	if !p.answers(p.patience.Context(ctx, time.Now()), c, false) {
		_ = c.Close()
		return nil
	}
	if time.Since(p.since) < reservedLasts {
		return c
	}
	p.since = time.Now() // if the application has all others, it stays
	if other, err := p.takeOne(p.briefly.Context(ctx, p.since)); err == nil {
		_ = c.Close()
		return other
	}
	return c
}

// close gives the reserved connection back when it is not in use any more.
func (p *pool) close() {
	if c := <-p.reserved; c != nil {
		_ = c.Close()
	}
	p.reserved <- nil
}
