package doctor

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/distlock-go/distlock/backend/sqllock"
)

// sqlLimit is the default operation timeout of sqllock.
const sqlLimit = sqllock.DefaultOpTimeout

// schemaVersion is the version of the tables that this program uses.
const schemaVersion = 1

// database reads the values of an SQL database.
type database struct {
	db      *sql.DB
	dialect sqllock.Dialect
}

// tables returns the names of the tables.
func (d database) tables() []string {
	names := []string{sqllock.DefaultTable, sqllock.DefaultTable + "_member"}
	if d.dialect == sqllock.MySQL {
		names = append(names, sqllock.DefaultTable+"_guard")
	}
	return names
}

// text returns the only value of a query.
func (d database) text(ctx context.Context, query string, args ...any) (string, error) {
	var value sql.NullString
	err := d.db.QueryRowContext(ctx, query, args...).Scan(&value)
	return value.String, err
}

// number returns the only value of a query.
func (d database) number(ctx context.Context, query string) (int, error) {
	var value sql.NullInt64
	err := d.db.QueryRowContext(ctx, query).Scan(&value)
	return int(value.Int64), err
}

// reach checks that the database answers.
func (d database) reach(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	return d.db.PingContext(ctx)
}

// schema examines the tables that exist.
func (d database) schema(ctx context.Context, existing []string) Finding {
	var missing []string
	for _, name := range d.tables() {
		if !slices.Contains(existing, name) {
			missing = append(missing, name)
		}
	}
	version := 0
	var err error
	if len(missing) == 0 {
		if version, err = d.number(ctx, "SELECT token FROM distlock WHERE lock_key = ''"); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return unseen("tables", "the version of the tables", err)
		}
	}
	if err != nil {
		if s := d.session(ctx); strings.Contains(s.Seen, "session") {
			return s // it cannot see the row
		}
	}
	return tables(missing, version)
}

// tables decides on the tables. version is 0 if they have none.
func tables(missing []string, version int) Finding {
	switch {
	case len(missing) > 0:
		return fault("tables", "missing: "+strings.Join(missing, ", "), "sqllock.CreateTable, or what sqllock.Schema returns; distlock ls -backend URL creates them, too")
	case version == 0:
		return fault("tables", "they have no version: the row with the empty key is missing", "sqllock.CreateTable")
	case version != schemaVersion:
		return fault("tables", fmt.Sprintf("they have version %d of the locks, and this program uses version %d", version, schemaVersion), "update the programs, all together")
	default:
		return ok("tables", "version %d", version)
	}
}

// privileges tries statements that change no row, in a transaction that is undone.
func (d database) privileges(ctx context.Context) Finding {
	var refused []string
	for _, table := range d.tables() {
		column := "token"
		if strings.HasSuffix(table, "_guard") {
			column = "closed"
		}
		for _, try := range []struct{ right, statement string }{
			{"SELECT", "SELECT lock_key FROM %s WHERE 1 = 0"},
			{"INSERT", "INSERT INTO %s (lock_key) SELECT 'x' FROM (SELECT 1 AS one) AS s WHERE 1 = 0"},
			{"UPDATE", "UPDATE %s SET %[2]s = 0 WHERE 1 = 0"},
			{"DELETE", "DELETE FROM %s WHERE 1 = 0"},
		} {
			if !d.may(ctx, fmt.Sprintf(strings.Replace(try.statement, "%s", "%[1]s", 1), table, column)) {
				refused = append(refused, try.right+" ON "+table)
			}
		}
	}
	user := "current_user"
	if d.dialect == sqllock.MySQL {
		user = "current_user()"
	}
	name, err := d.text(ctx, "SELECT "+user)
	if err != nil {
		name = "?"
	}
	return privileges(name, refused)
}

// may reports whether a statement is allowed.
func (d database) may(ctx context.Context, statement string) bool {
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return false
	}
	defer tx.Rollback() //nolint:errcheck // it changes nothing
	_, err = tx.ExecContext(ctx, statement)
	if err == nil {
		return true
	}
	text := strings.ToLower(err.Error())
	return !strings.Contains(text, "denied")
}

// privileges decides on the rights that are missing.
func privileges(user string, refused []string) Finding {
	if len(refused) == 0 {
		return ok("privileges", "%s may read and write the tables", user)
	}
	var grants []string
	for _, r := range refused {
		grants = append(grants, "GRANT "+r+" TO "+quotedUser(user)+";")
	}
	return fault("privileges", user+" may not "+strings.Join(refused, ", "), strings.Join(grants, " "))
}

// session does in the pool once what a lock does, as each program does before its first one.
func (d database) session(ctx context.Context) Finding {
	b, err := sqllock.New(d.db, d.dialect)
	if err == nil {
		err = errors.Join(b.Ping(ctx), b.Close())
	}
	if err != nil {
		return fault("session", oneLine(err), "what the error says")
	}
	return ok("session", "it does what a lock needs")
}

// quotedUser returns a user as SQL has it.
func quotedUser(user string) string {
	name, host, hasHost := strings.Cut(user, "@")
	if hasHost {
		return "'" + name + "'@'" + host + "'"
	}
	return `"` + name + `"`
}

// timing examines how long requests and commits take. Commits add and remove the row of
// a key that is not a lock.
func (d database) timing(ctx context.Context, now string, writable bool) []Finding {
	var findings []Finding
	if d.dialect != sqllock.SQLite {
		t, err := measure(ctx, 50, func(ctx context.Context) error {
			_, err := d.number(ctx, "SELECT 1")
			return err
		})
		if err != nil {
			return []Finding{fault("round-trip", oneLine(err), "find out why the database stops answering")}
		}
		findings = append(findings, roundTrip(t, sqlLimit))
		r, err := readClock(ctx, 10, func(ctx context.Context) (time.Time, error) {
			us, err := d.number(ctx, "SELECT "+now)
			return time.UnixMicro(int64(us)), err
		})
		if err == nil {
			findings = append(findings, clock(r))
		}
	}
	if !writable {
		return findings
	}
	key := "distlock:doctor:" + uuid.NewString()
	t, err := measure(ctx, 10, func(ctx context.Context) error {
		insert := "INSERT INTO distlock (lock_key, owner, prior_token, token, since, expires, busy) VALUES ('" + key + "', '', 0, 0, 0, 0, 0)"
		if _, err := d.db.ExecContext(ctx, insert); err != nil {
			return err
		}
		_, err := d.db.ExecContext(ctx, "DELETE FROM distlock WHERE lock_key = '"+key+"'")
		return err
	})
	if err != nil {
		return append(findings, fault("commit", oneLine(err), "look at the log of the database"))
	}
	return append(findings, commit(times{t.median / 2, t.p99 / 2})) // two commits each
}

// writable reports whether findings say that the tables can be written.
func writable(findings []Finding) bool {
	for _, f := range findings {
		if f.Severity == Fault && slices.Contains([]string{"tables", "role", "autocommit", "privileges", "session"}, f.ID) {
			return false
		}
	}
	return true
}

// isolation decides on the level that transactions have by default.
func isolation(level string) Finding {
	level = strings.ToLower(strings.ReplaceAll(level, "-", " "))
	if level == "serializable" {
		return note("isolation", level+": more operations are repeated", "READ COMMITTED for the user of the locks")
	}
	return ok("isolation", "%s", level)
}
