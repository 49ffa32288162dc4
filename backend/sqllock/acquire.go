package sqllock

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/distlock-go/distlock/backend/internal/doubt"
	"github.com/distlock-go/distlock/driver"
)

// TryAcquire implements [driver.Backend]. A free key is one statement for an exclusive
// holder, two if it is new, and one transaction for one that shares it.
func (b *Backend) TryAcquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, e, err := b.attempt(ctx, &r)
	if err != nil || e == nil {
		return g, err
	}
	return driver.Grant{}, e.heldError(r.Sharing())
}

// attempt makes one attempt. If another owner has the key, it returns the key as it is.
func (b *Backend) attempt(ctx context.Context, r *driver.Request) (g driver.Grant, held *entry, err error) {
	defer func() {
		// What an attempt sends before has no effect, or succeeds, or leaves a doubt.
		e, ok := errors.AsType[*storeError](err)
		if ok && e.unsent && b.inDoubt.Of(r.Owner)&doubt.Attempt == 0 {
			err = driver.NotSent(err)
		}
	}()
	if err := checkRequest(r); err != nil {
		return driver.Grant{}, nil, err
	}
	if err := b.ready(ctx); err != nil {
		return driver.Grant{}, nil, err
	}
	if r.From != "" {
		if g, held, err = b.decide(ctx, r, false, false); held != nil {
			return driver.Grant{}, nil, driver.ErrLost
		}
		return g, nil, err
	}
	if r.Sharing() == (driver.Sharing{}) {
		if g, ok, err := b.take(ctx, r); ok || err != nil {
			return g, nil, err
		}
	}
	e, err := b.peek(ctx, forAttempt, r.Key)
	if err != nil {
		return driver.Grant{}, nil, err
	}
	if !e.mayGrant(r) {
		return driver.Grant{}, e, nil
	}
	return b.decide(ctx, r, false, false)
}

// decide makes one attempt in a transaction, which can also take over a lease that has
// ended, add one holder to others, and give the request a place in the queue.
func (b *Backend) decide(ctx context.Context, r *driver.Request, queued, patient bool) (g driver.Grant, held *entry, err error) {
	sent := time.Now()
	decided := false
	err = b.change(ctx, forAttempt, r.Key, r.From == "", nil, func(e *entry) {
		var ok bool
		decided = true
		if r.From != "" {
			if held = nil; !e.adopt(r) {
				held = e
			}
			g = r.Grant()
			return
		}
		e.patient = patient
		if g, ok = e.acquire(r); ok {
			held = nil
			return
		}
		if held = e; queued {
			e.enqueue(r)
		}
		e.patient = false
	})
	if err != nil && decided { // otherwise the commit was not sent
		b.doubtAttempt(r.Owner)
	}
	g.Sent = sent
	return g, held, err
}

// doubtAttempt notes that an attempt had no answer. In SQLite it ends with its call.
func (b *Backend) doubtAttempt(owner string) {
	if b.dialect != SQLite {
		b.inDoubt.Add(owner, doubt.Attempt)
	}
}

// mayGrant reports whether it is worth while to try in a transaction. The entry is
// pruned afterwards.
func (e *entry) mayGrant(r *driver.Request) bool {
	e.prune()
	if e.owner == r.Owner {
		return true
	}
	m := e.find(r.Owner)
	return m != nil && m.holds() || (m == nil || m.waits()) && e.admits(r)
}

// take executes the statements that take a free key. It reports whether they have.
func (b *Backend) take(ctx context.Context, r *driver.Request) (g driver.Grant, ok bool, err error) {
	sent := time.Now()
	var last int64
	do := func(ctx context.Context, c *sql.Conn) error {
		last, err = b.takeIn(ctx, c, r)
		if err != nil && !undone(err) && !useless(err) && (code(err) == "" || b.broken(err)) {
			b.doubtAttempt(r.Owner)
		}
		return err
	}
	if b.dialect == SQLite {
		// It costs nothing there, and fails on a connection on which the application
		// has left a transaction open.
		err = b.transact(ctx, forAttempt, do)
	} else {
		err = b.do(ctx, forAttempt, do)
	}
	if err != nil || last == 0 {
		return driver.Grant{}, false, err
	}
	g = grantOf(r, last)
	g.Sent = sent
	return g, true, nil
}

// takeIn returns the last token, or 0 if the statements have changed nothing.
func (b *Backend) takeIn(ctx context.Context, c *sql.Conn, r *driver.Request) (last int64, err error) {
	v := values{"key": r.Key, "owner": r.Owner, "ttl": r.TTL.Microseconds(), "tokens": int64(max(r.Tokens, 1))}
	for i := 0; i < len(b.sql.acquire) && last == 0 && err == nil; i++ {
		s := b.sql.acquire[i]
		if b.dialect != MySQL {
			last, err = s.number(ctx, c, v)
			continue
		}
		var result sql.Result
		if result, err = c.ExecContext(ctx, s.text, s.args(v)...); err == nil {
			last, err = result.LastInsertId()
		}
	}
	return last, err
}
