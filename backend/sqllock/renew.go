package sqllock

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// Renew implements [driver.Backend]. One statement renews many leases.
func (b *Backend) Renew(ctx context.Context, grants []driver.Grant, report func(int, error)) {
	var holders, sharers []int // their indices
	for i := range grants {
		if grants[i].Sharing() == (driver.Sharing{}) {
			holders = append(holders, i)
		} else {
			sharers = append(sharers, i)
		}
	}
	var unanswered atomic.Pointer[error]
	b.renewIn(ctx, b.sql.table.lock, grants, holders, &unanswered, report)
	b.renewIn(ctx, b.sql.table.member, grants, sharers, &unanswered, report)
}

type keyOwner struct{ key, owner string }

// renewIn renews grants in one of the tables. When the database does not answer, here
// or with the error unanswered before, it does not ask again. The next calls do, with a
// statement for each grant: somebody may keep one row locked, and the others go on.
func (b *Backend) renewIn(ctx context.Context, table string, grants []driver.Grant, all []int, unanswered *atomic.Pointer[error], report func(int, error)) {
	// Statements that lock rows in the same order do not wait in a circle.
	slices.SortFunc(all, func(x, y int) int { return cmp.Compare(grants[x].Key, grants[y].Key) })
	size, lanes := mostRenewals, make(chan struct{}, 1)
	if time.Now().UnixNano() < b.apart.Load() {
		size, lanes = 1, make(chan struct{}, renewalsApart)
	}
	var done sync.WaitGroup
	for batch := range slices.Chunk(all, size) {
		lanes <- struct{}{}
		done.Go(func() {
			defer func() { <-lanes }()
			var renewed map[keyOwner]bool
			var err error
			if before := unanswered.Load(); before != nil {
				err = *before
			} else {
				renewed, err = b.renew(ctx, table, grants, batch)
			}
			if silent := errors.Is(err, errNoAnswer) || errors.Is(err, errNoConn); silent || undone(err) {
				b.apart.Store(time.Now().Add(grants[batch[0]].TTL).UnixNano())
				if silent {
					unanswered.Store(&err)
				}
			}
			for _, i := range batch {
				result := err
				if err == nil && !renewed[keyOwner{grants[i].Key, grants[i].Owner}] {
					result = driver.ErrLost
				}
				report(i, result)
			}
		})
	}
	done.Wait()
}

// renew returns which of the grants were renewed.
func (b *Backend) renew(ctx context.Context, table string, grants []driver.Grant, batch []int) (map[keyOwner]bool, error) {
	if err := b.ready(ctx); err != nil {
		return nil, err
	}
	renewTemplate, readTemplate := renewTemplates(b.dialect, table, len(batch))
	s, read := b.dialect.compile(b.sql.table, renewTemplate), b.dialect.compile(b.sql.table, readTemplate)
	v := make(values, 4*len(batch))
	for i, index := range batch {
		no, g := strconv.Itoa(i), &grants[index]
		v["key"+no], v["owner"+no], v["ttl"+no], v["kept"+no] = g.Key, g.Owner, g.TTL.Microseconds(), int64(1)
		if g.Retain {
			v["kept"+no] = int64(0)
		}
	}
	var renewed map[keyOwner]bool
	run := b.do
	if b.dialect == MySQL && len(batch) > 1 { // a statement that is given up must not keep its locks
		run = b.transact
	}
	err := run(ctx, forRenewal, func(ctx context.Context, c *sql.Conn) error {
		renewed = make(map[keyOwner]bool, len(batch))
		var err error
		query, changed := s, true
		if readTemplate != "" {
			query = read
			if changed, err = s.exec(ctx, c, v); err != nil {
				return err
			}
		}
		err = query.rows(ctx, c, v, func(scan func(...any) error) error {
			var k keyOwner
			err := scan(&k.key, &k.owner)
			renewed[k] = true
			return err
		})
		if err == nil && (!changed || len(renewed) < len(batch)) { // they are lost, or the session is spoiled
			err = b.dialect.fits(ctx, c)
		}
		if errors.Is(err, errUnfit) { // nothing is committed here: the next call has another session
			discard(c)
		}
		return err
	})
	return renewed, err
}

const (
	mostRenewals  = 64 // how many grants one statement renews
	renewalsApart = 8  // how many statements at a time each renew one
)

// renewTemplates returns the templates for n grants in a table: one that renews and
// returns what it has renewed, or in MySQL one that renews and one that returns what is
// running. The parameter kept is 1, so that a renewal that is late shortens no lease, or 0
// for the last one of an owner, which may.
func renewTemplates(d Dialect, name string, n int) (renew, read string) {
	rows := func(row, separator string) string {
		all := make([]string, n)
		for i := range all {
			all[i] = strings.ReplaceAll(row, "#", strconv.Itoa(i))
		}
		return strings.Join(all, separator)
	}
	update := "UPDATE " + name + " AS l "
	grants := "(" + rows("SELECT :key# AS k, :owner# AS o, :ttl# AS ttl, :kept# AS kept", " UNION ALL ") + ") AS g "
	const renewal = "SET expires = {max}(l.expires * g.kept, {now} + g.ttl) "
	const running = "l.lock_key = g.k AND l.owner = g.o AND l.token > 0 AND l.expires > {now}{commits}"
	if d == MySQL {
		return update + "JOIN " + grants + "ON " + running + " " + renewal, "SELECT lock_key, owner FROM " + name +
			" WHERE (lock_key, owner) IN (" + rows("(:key#, :owner#)", ", ") + ") AND token > 0 AND expires > {now}" + allRows
	}
	return update + renewal + "FROM " + grants + "WHERE " + running + " RETURNING lock_key, owner", ""
}

// Extend implements [driver.Extender].
func (b *Backend) Extend(ctx context.Context, g driver.Grant, tokens int) (driver.Grant, error) {
	r := driver.Request{Key: g.Key, Owner: g.Owner, TTL: g.TTL, Mode: g.Mode, Permits: g.Permits, Tokens: tokens}
	if err := checkRequest(&r); err != nil {
		return driver.Grant{}, err
	}
	if err := b.ready(ctx); err != nil {
		return driver.Grant{}, err
	}
	var more driver.Grant
	var failure error
	sent := time.Now()
	err := b.change(ctx, forRenewal, g.Key, false, nil, func(e *entry) { more, failure = e.extend(&r) })
	more.Sent = sent
	return more, cmp.Or(err, failure)
}

// extend issues more tokens to the owner of r if it has the key and nobody else waits.
func (e *entry) extend(r *driver.Request) (driver.Grant, error) {
	m := e.find(r.Owner)
	if e.owner != r.Owner && (m == nil || !m.holds()) {
		return driver.Grant{}, fmt.Errorf("sqllock: the owner does not have the key: %w", driver.ErrLost)
	}
	if e.waiting(r.Owner) > 0 {
		return driver.Grant{}, fmt.Errorf("sqllock: others wait: %w", driver.ErrNotAcquired)
	}
	g, _ := e.acquire(r)
	return g, nil
}
