package sqllock

import (
	"cmp"
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/distlock-go/distlock/internal/clock"
)

// schemaVersion is the version of the tables. It is the token of the row with the empty
// key, which is not a lock.
const schemaVersion = 1

// lockTable has a row for each key. The row stays when the key is free, because it has
// the last token. Apart from the members, a key has one holder at most, which is in the
// row. No index but the key: a renewal should not write an index.
const lockTable = `CREATE TABLE IF NOT EXISTS {lock} (
  lock_key    {key} NOT NULL PRIMARY KEY,
  owner       {key} NOT NULL, -- the exclusive holder, or empty
  prior_token bigint NOT NULL, -- the last token before this holder had the key
  token       bigint NOT NULL, -- the last token that was issued
  since       bigint NOT NULL, -- when the holder got the key, in microseconds since 1970
  expires     bigint NOT NULL, -- when its lease ends
  {guard column}busy        bigint NOT NULL -- how many rows of the other table have the key
){with}`

// memberTable has a row for each owner that waits for a key, for each that shares it,
// and for a minute for each that is refused: it was released while an attempt had no
// answer.
const memberTable = `CREATE TABLE IF NOT EXISTS {member} (
  lock_key    {key} NOT NULL,
  owner       {key} NOT NULL,
  ticket      bigint NOT NULL, -- the order of arrival
  sharing     bigint NOT NULL, -- 0 exclusive, -1 shared, above 0 the permits of a semaphore
  prior_token bigint NOT NULL,
  token       bigint NOT NULL, -- 0 if it waits, -1 if it is refused, otherwise it shares the key
  since       bigint NOT NULL,
  expires     bigint NOT NULL, -- when its lease ends, or when it last asked or was released
  PRIMARY KEY (lock_key, owner)
){with}`

// guardTable is what Guard locks in MySQL, in which a lock on the row of the key would
// stop the renewals. It has the last token of the last holder that does not have the
// key any more.
const guardTable = `CREATE TABLE IF NOT EXISTS {guard} (
  lock_key {key} NOT NULL PRIMARY KEY,
  closed   bigint NOT NULL
){with}`

const versionRow = `{insert} INTO {lock} (lock_key, owner, prior_token, token, since, expires, busy) VALUES ('', '', 0, %d, 0, 9223372036854775807, 0){conflict}`

// Schema returns the SQL that creates the tables, for users who create them by hand or
// with a tool for migrations. The statements end with semicolons, and do nothing if the
// tables exist. An empty table means [DefaultTable].
func Schema(d Dialect, table string) (string, error) {
	statements, err := schema(d, cmp.Or(table, DefaultTable))
	if err != nil {
		return "", err
	}
	return strings.Join(statements, ";\n") + ";\n", nil
}

func schema(d Dialect, name string) ([]string, error) {
	if d.syntax() == nil {
		return nil, fmt.Errorf("sqllock: unknown dialect %v", d)
	}
	t, err := d.parseTable(name)
	if err != nil {
		return nil, fmt.Errorf("sqllock: %w", err)
	}
	guarded := "guarded     bigint NOT NULL DEFAULT 0, -- 1 if Guard was called for the key\n  "
	templates := []string{lockTable, memberTable}
	switch d {
	case SQLite:
		guarded = ""
	case MySQL:
		templates = append(templates, guardTable)
	}
	templates = append(templates, fmt.Sprintf(versionRow, schemaVersion))
	if d == Postgres {
		// With statistics it would find the row of a key by a bitmap of all its
		// versions, in a table of few keys that has many of them: see syntax.row.
		templates = append(templates, "ALTER TABLE {lock} ALTER COLUMN lock_key SET STATISTICS 0")
	}
	statements := make([]string, len(templates))
	for i, template := range templates {
		statements[i] = d.compile(t, strings.ReplaceAll(template, "{guard column}", guarded)).text
	}
	return statements, nil
}

// createTimeout limits CreateTable, which may have to wait for another process.
const createTimeout = 10 * time.Second

// CreateTable creates the tables unless they exist. Several processes may call it at
// the same time. It needs the permission to create tables; a Backend needs only to read
// and write them. It fails if the session cannot be used for locks. An empty table
// means [DefaultTable].
func CreateTable(ctx context.Context, db *sql.DB, d Dialect, table string) error {
	table = cmp.Or(table, DefaultTable)
	statements, err := schema(d, table)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, createTimeout)
	defer cancel()
	for {
		err := create(ctx, db, d, statements)
		switch {
		case err == nil:
			return nil
		case !undone(err) && !errors.Is(err, sqldriver.ErrBadConn), !clock.Sleep(ctx, time.Millisecond+rand.N(20*time.Millisecond)):
			return fmt.Errorf("sqllock: create the table %q: %w", table, err)
		}
	}
}

// create runs the statements in one transaction, so that no other process sees a table
// without its version. In MySQL each statement commits by itself.
func create(ctx context.Context, db *sql.DB, d Dialect, statements []string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // without effect after the commit
	if err := d.fits(ctx, tx); err != nil {
		return err
	}
	if d == Postgres {
		// IF NOT EXISTS fails while another transaction creates such a table.
		statements = append([]string{"SELECT pg_advisory_xact_lock(hashtext('github.com/distlock-go/distlock'))"}, statements...)
	}
	for _, s := range statements {
		result, err := tx.ExecContext(ctx, s)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); strings.HasPrefix(s, "INSERT") && n == 0 && err == nil {
			break // the tables are as they were; only their owner may alter them
		}
	}
	return tx.Commit()
}

// fits returns why a session cannot be used for locks, as far as its settings say that.
func (d Dialect) fits(ctx context.Context, session Tx) error {
	var mode sql.NullString
	err := session.QueryRowContext(ctx, d.syntax().mode).Scan(&mode)
	return cmp.Or(err, unfit[mode.String])
}
