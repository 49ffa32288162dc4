package sqllock

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"

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
			switch {
			case err != nil:
				report(r.i, err)
			case renewed[keyOwner{r.g.Key, r.g.Owner}]:
				report(r.i, nil)
			default:
				report(r.i, driver.ErrLost)
			}
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
				return fmt.Errorf("%w: %s", errUnfit, unfit["autocommit"])
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
