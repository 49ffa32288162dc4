package sqllock

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strconv"

	"github.com/distlock-go/distlock/driver"
)

// mostRenewals is how many grants one statement renews.
const mostRenewals = 64

// Renew implements [driver.Backend]. One statement renews many leases.
func (b *Backend) Renew(ctx context.Context, grants []driver.Grant, report func(int, driver.RenewResult)) {
	var holders, sharers []renewal
	for i := range grants {
		r := renewal{i, &grants[i]}
		if grants[i].Sharing() == (driver.Sharing{}) {
			holders = append(holders, r)
		} else {
			sharers = append(sharers, r)
		}
	}
	b.renewIn(ctx, b.sql.table.lock, holders, report)
	b.renewIn(ctx, b.sql.table.member, sharers, report)
}

// renewal is a grant with its index.
type renewal struct {
	i int
	g *driver.Grant
}

type keyOwner struct{ key, owner string }

// renewIn renews grants in one of the tables.
func (b *Backend) renewIn(ctx context.Context, table string, all []renewal, report func(int, driver.RenewResult)) {
	// Statements that lock the same rows in the same order do not wait for each other in
	// a circle.
	slices.SortFunc(all, func(x, y renewal) int { return cmp.Compare(x.g.Key, y.g.Key) })
	for batch := range slices.Chunk(all, mostRenewals) {
		renewed, err := b.renew(ctx, table, batch)
		for _, r := range batch {
			switch {
			case err != nil:
				report(r.i, driver.RenewResult{Status: driver.Unknown, Err: err})
			case renewed[keyOwner{r.g.Key, r.g.Owner}]:
				report(r.i, driver.RenewResult{Status: driver.Renewed})
			default:
				report(r.i, driver.RenewResult{Status: driver.Lost})
			}
		}
	}
}

// renew returns which of the grants were renewed.
func (b *Backend) renew(ctx context.Context, table string, batch []renewal) (map[keyOwner]bool, error) {
	if err := b.ready(ctx); err != nil {
		return nil, err
	}
	n := 1 // a power of two, so that there are few different statements
	for n < len(batch) {
		n *= 2
	}
	v := make(values, 3*n)
	for i := range n {
		g, no := batch[min(i, len(batch)-1)].g, strconv.Itoa(i)
		v["key"+no], v["owner"+no], v["ttl"+no] = g.Key, g.Owner, g.TTL.Microseconds()
	}
	renew, read := b.sql.renew(table, n), (*statement)(nil)
	if b.dialect == MySQL {
		renew, read = b.sql.renew(table, n), b.sql.renewed(table, n)
	}
	var renewed map[keyOwner]bool
	err := b.do(ctx, forRenewal, func(ctx context.Context, c *sql.Conn) error {
		renewed = make(map[keyOwner]bool, len(batch))
		s := renew
		if read != nil {
			if _, err := c.ExecContext(ctx, renew.text, renew.args(v)...); err != nil {
				return err
			}
			s = read
		}
		rows, err := c.QueryContext(ctx, s.text, s.args(v)...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var k keyOwner
			if err := rows.Scan(&k.key, &k.owner); err != nil {
				return err
			}
			renewed[k] = true
		}
		return rows.Err()
	})
	return renewed, err
}
