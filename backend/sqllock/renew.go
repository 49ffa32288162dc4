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
	"time"

	"github.com/distlock-go/distlock/driver"
)

// Renew implements [driver.Backend]. One statement renews many leases.
func (b *Backend) Renew(ctx context.Context, grants []driver.Grant, report func(int, error)) {
	var holders, sharers []renewal
	for i := range grants {
		r := renewal{i, &grants[i]}
		if grants[i].Sharing() == (driver.Sharing{}) {
			holders = append(holders, r)
		} else {
			sharers = append(sharers, r)
		}
	}
	err := b.renewIn(ctx, b.sql.table.lock, holders, nil, report)
	_ = b.renewIn(ctx, b.sql.table.member, sharers, err, report)
}

// renewal is a grant with its index.
type renewal struct {
	i int
	g *driver.Grant
}

type keyOwner struct{ key, owner string }

// renewIn renews grants in one of the tables. When the database does not answer, here
// or with the error unanswered before, it does not ask again: the next call does.
func (b *Backend) renewIn(ctx context.Context, table string, all []renewal, unanswered error, report func(int, error)) error {
	// Statements that lock rows in the same order do not wait in a circle.
	slices.SortFunc(all, func(x, y renewal) int { return cmp.Compare(x.g.Key, y.g.Key) })
	for batch := range slices.Chunk(all, mostRenewals) {
		renewed, err := map[keyOwner]bool(nil), unanswered
		if err == nil {
			renewed, err = b.renew(ctx, table, batch)
		}
		if errors.Is(err, errNoAnswer) || errors.Is(err, errNoConn) {
			unanswered = err
		}
		for _, r := range batch {
			result := err
			if err == nil && !renewed[keyOwner{r.g.Key, r.g.Owner}] {
				result = driver.ErrLost
			}
			report(r.i, result)
		}
	}
	return unanswered
}

// renew returns which of the grants were renewed.
func (b *Backend) renew(ctx context.Context, table string, batch []renewal) (map[keyOwner]bool, error) {
	if err := b.ready(ctx); err != nil {
		return nil, err
	}
	renewTemplate, readTemplate := renewTemplates(b.dialect, table, len(batch))
	s, read := b.dialect.compile(b.sql.table, renewTemplate), b.dialect.compile(b.sql.table, readTemplate)
	v := make(values, 4*len(batch))
	for i, r := range batch {
		no := strconv.Itoa(i)
		v["key"+no], v["owner"+no], v["ttl"+no], v["kept"+no] = r.g.Key, r.g.Owner, r.g.TTL.Microseconds(), int64(1)
		if r.g.Retain {
			v["kept"+no] = int64(0)
		}
	}
	var renewed map[keyOwner]bool
	err := b.do(ctx, forRenewal, func(ctx context.Context, c *sql.Conn) error {
		renewed = make(map[keyOwner]bool, len(batch))
		query := s
		if readTemplate != "" {
			if _, err := s.exec(ctx, c, v); err != nil {
				return err
			}
			query = read
		}
		err := query.rows(ctx, c, v, func(scan func(...any) error) error {
			var k keyOwner
			err := scan(&k.key, &k.owner)
			if renewed[k] = true; err == nil && k == (keyOwner{}) {
				return unfit["spoiled"]
			}
			return err
		})
		if errors.Is(err, errUnfit) { // nothing is committed here: the next call has another session
			discard(c)
		}
		return err
	})
	return renewed, err
}

// mostRenewals is how many grants one statement renews.
const mostRenewals = 64

// renewTemplates returns the templates for n grants in a table: one that renews and
// returns what it has renewed, or in MySQL one that renews and one that returns what is
// running, and an empty key if the session is spoiled. The parameter kept is 1, so that a
// renewal that is late shortens no lease, or 0 for the last one of an owner, which may.
func renewTemplates(d Dialect, name string, n int) (renew, read string) {
	rows := func(row, separator string) string {
		all := make([]string, n)
		for i := range all {
			all[i] = strings.ReplaceAll(row, "#", strconv.Itoa(i))
		}
		return strings.Join(all, separator)
	}
	update := "UPDATE " + name + " AS l "
	const renewal = "SET expires = {max}(l.expires * g.kept, {now} + g.ttl)"
	const running = "l.lock_key = g.k AND l.owner = g.o AND l.token > 0 AND l.expires > {now}"
	switch d {
	case Postgres:
		return update + renewal + " FROM (VALUES " + rows("(:key#, :owner#, :ttl#, :kept#)", ", ") + ") AS g (k, o, ttl, kept) " +
			"WHERE " + running + " RETURNING lock_key, owner", ""
	case SQLite:
		return update + renewal + " FROM (SELECT column1 AS k, column2 AS o, column3 AS ttl, column4 AS kept " +
			"FROM (VALUES " + rows("(:key#, :owner#, :ttl#, :kept#)", ", ") + ")) AS g " +
			"WHERE " + running + " RETURNING lock_key, owner", ""
	default:
		return update + "JOIN (" + rows("SELECT :key# AS k, :owner# AS o, :ttl# AS ttl, :kept# AS kept", " UNION ALL ") + ") AS g " +
				"ON " + running + " " + renewal + " WHERE NOT " + spoiled,
			"SELECT lock_key, owner FROM " + name + " WHERE (lock_key, owner) IN (" + rows("(:key#, :owner#)", ", ") + ") " +
				"AND token > 0 AND expires > {now} UNION ALL SELECT '', '' FROM DUAL WHERE " + spoiled + allRows
	}
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
