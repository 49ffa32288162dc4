package sqllock

import (
	"cmp"
	"context"
	"database/sql"

	"github.com/distlock-go/distlock/driver"
)

// Sweep deletes the rows of unused keys at once.
func (b *Backend) Sweep(ctx context.Context) error { return b.sweep(ctx, 0) }

// Says returns what an error says: undone, useless, ended or nothing.
func Says(err error) (what string) {
	for name, says := range map[string]func(error) bool{"undone": undone, "useless": useless, "ended": ended} {
		if says(err) {
			what += name
		}
	}
	return what
}

// Wake wakes the waiter for the owner, as a release in this process does.
func (b *Backend) Wake(owner string) { b.wakes.heard(driver.Fingerprint(owner)) }

// Doze keeps the waiter for the owner from looking by itself.
func (b *Backend) Doze(owner string) { b.wakes.find(owner).begin() }

// Plans returns how the database executes the statements for a key that is free, or
// that it reads.
func (b *Backend) Plans(ctx context.Context, db *sql.DB, key string) (map[string]string, error) {
	plans := make(map[string]string)
	v := values{"key": key, "owner": "", "ttl": int64(0), "tokens": int64(1)}
	for name, s := range map[string]*statement{"take": b.sql.acquire[0], "release": b.sql.release[0], "peek": b.sql.peek} {
		rows, err := db.QueryContext(ctx, "EXPLAIN (ANALYZE, BUFFERS) "+s.text, s.args(v)...)
		if err != nil {
			return nil, err
		}
		for line := ""; rows.Next() && err == nil; plans[name] += line + "\n" {
			err = rows.Scan(&line)
		}
		if err := cmp.Or(err, rows.Err(), rows.Close()); err != nil { //nolint:sqlclosecheck // its error counts
			return nil, err
		}
	}
	return plans, nil
}

// Listed returns how many members Inspect reads of the keys with the prefix.
func (b *Backend) Listed(ctx context.Context, prefix string) (members int, err error) {
	page, err := b.find(ctx, forAttempt, b.sql.list, values{"from": "", "prefix": prefix, "to": prefix + lastCharacter})
	for _, k := range page {
		members += len(k.members)
	}
	return members, err
}
