package sqllock

import (
	"cmp"
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// Dialect is the SQL of one kind of database.
type Dialect int

// The dialects. The zero value is not one.
const (
	Postgres Dialect = iota + 1 // PostgreSQL 11 or later
	MySQL                       // MySQL 8.0 or later, MariaDB 10.6 or later
	SQLite                      // SQLite 3.35 or later
)

// String returns the name of the database.
func (d Dialect) String() string {
	if s := d.syntax(); s != nil {
		return s.name
	}
	return "Dialect(" + strconv.Itoa(int(d)) + ")"
}

// syntax is what differs between the dialects in small ways. What differs in large ways
// is in the statements.
type syntax struct {
	name   string
	now    string // the database's clock when the statement runs, in microseconds since 1970
	max    string // the function that returns the larger of two numbers
	quote  string // around identifiers
	shared string // ends a read that locks rows: others may renew what they hold, and not more
	update string // ends a read that locks rows as a removal does
	key    string // the type of keys and owners: compared byte by byte
	with   string // ends a CREATE TABLE of rows that change often
	mode   string // a query that works on this database only: a key of unfit, or anything else

	insert   string // begins an INSERT of a row that may exist
	conflict string // ends it
	guarded  string // whether Guard was called for a key
	commits  string // a statement by itself does nothing in a session that is spoiled

	// row finds the row of a key. In PostgreSQL an update writes a new version, and
	// while a snapshot is open anywhere, the index has all versions since then. The
	// newest is the last: from there it is found at once, and from the beginning after
	// all others.
	row string
}

const (
	keyRow    = "l.lock_key = :key"
	onTheLast = " AND l.ctid = (SELECT n.ctid FROM {lock} AS n WHERE n.lock_key <= :key ORDER BY n.lock_key DESC LIMIT 1)"
	doNothing = " ON CONFLICT (lock_key) DO NOTHING"
	allRows   = " LIMIT 9223372036854775807"                        // sql_select_limit counts where no other limit stands
	openEnded = "(@@autocommit = 0 OR @@completion_type = 'CHAIN')" // a statement by itself is not committed
	stopped   = "ABS(TIMESTAMPDIFF(SECOND, NOW(), SYSDATE())) > 10" // SET timestamp stands, or the statement has waited
	recoded   = "@@character_set_client <> @@character_set_connection"
	spoiled   = "(" + openEnded + " OR " + recoded + " OR " + stopped + ")"
	notUTF8   = "(pg_client_encoding() <> 'UTF8' AND getdatabaseencoding() <> 'SQL_ASCII')"
)

func (d Dialect) syntax() *syntax {
	switch d {
	case Postgres:
		return &syntax{
			name: "PostgreSQL", now: "CAST(date_part('epoch', pg_catalog.clock_timestamp()) * 1000000 AS bigint)",
			max: "greatest", quote: `"`, shared: "FOR NO KEY UPDATE", update: "FOR UPDATE",
			key: `text COLLATE "C"`, with: " WITH (fillfactor = 50)", mode: "SELECT CASE WHEN pg_is_in_recovery() THEN 'standby' WHEN current_setting('transaction_read_only') = 'on' THEN 'read-only' " +
				"WHEN " + notUTF8 + " THEN 'spoiled' END",
			insert: "INSERT", conflict: doNothing, guarded: "l.guarded", commits: " AND NOT " + notUTF8, row: keyRow + onTheLast,
		}
	case MySQL:
		return &syntax{
			name: "MySQL", now: "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))",
			max: "greatest", quote: "`", shared: allRows + " FOR UPDATE", update: allRows + " FOR UPDATE",
			key: "varbinary(255)", with: " ENGINE=InnoDB", mode: "SELECT CASE WHEN " + spoiled + " THEN 'spoiled' WHEN @@global.read_only THEN 'read-only' WHEN @@sql_mode LIKE '%EMPTY_STRING_IS_NULL%' " +
				"OR @@sql_safe_updates OR NOT @@sql_big_selects OR @@sql_select_limit = 0 THEN 'mode' END LIMIT 1",
			insert: "INSERT IGNORE", guarded: "l.guarded", commits: " AND NOT " + spoiled, row: keyRow,
		}
	case SQLite:
		return &syntax{
			name: "SQLite", now: "(CAST(round((julianday('now') - 2440587.5) * 86400000) AS integer) * 1000)",
			max: "max", quote: `"`, key: "text", with: " WITHOUT ROWID", mode: "SELECT sqlite_version()",
			insert: "INSERT", conflict: doNothing, guarded: "0", row: keyRow,
		}
	default:
		return nil
	}
}

// table is the quoted names of the tables.
type table struct {
	name   string // as the caller wrote it
	lock   string
	member string
	guard  string
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,47}$`)

// parseTable checks a name with or without a schema, and quotes its parts.
func (d Dialect) parseTable(name string) (table, error) {
	schema, base, found := strings.Cut(name, ".")
	if !found {
		schema, base = "", name
	}
	if !identifier.MatchString(base) || found && !identifier.MatchString(schema) {
		return table{}, fmt.Errorf("the table %q is not a name, or a schema and a name, of at most 48 letters, digits and underscores each", name)
	}
	q := d.syntax().quote
	prefix := ""
	if found {
		prefix = q + schema + q + "."
	}
	quoted := func(suffix string) string { return prefix + q + base + suffix + q }
	return table{name: name, lock: quoted(""), member: quoted("_member"), guard: quoted("_guard")}, nil
}

// Tx is a transaction of the application on the database that has the locks: a
// [*sql.Tx], or a [*sql.Conn] on which one has begun.
type Tx interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// statement is SQL with the names of its parameters in the order of the driver.
type statement struct {
	text  string
	names []string
}

// values are the parameters of a statement by name. Each is a string or an int64.
type values map[string]any

func (s *statement) args(v values) []any {
	args := make([]any, len(s.names))
	for i, name := range s.names {
		args[i] = v[name]
	}
	return args
}

// exec executes the statement, and reports whether it has changed a row.
func (s *statement) exec(ctx context.Context, c *sql.Conn, v values) (changed bool, err error) {
	result, err := c.ExecContext(ctx, s.text, s.args(v)...)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

func (s *statement) row(ctx context.Context, q Tx, v values) *sql.Row {
	return q.QueryRowContext(ctx, s.text, s.args(v)...)
}

// number returns the number in the row that the statement returns, or 0 without a row.
// It asks the driver, which watches ctx itself: database/sql starts a goroutine for
// each query to do that, too, which is a tenth of the time of a free lock.
func (s *statement) number(ctx context.Context, c *sql.Conn, v values) (int64, error) {
	var n sql.NullInt64
	err := c.Raw(func(conn any) error {
		q, ok := conn.(sqldriver.QueryerContext)
		if !ok {
			return sqldriver.ErrSkip
		}
		var args []sqldriver.NamedValue
		for i, arg := range s.args(v) {
			args = append(args, sqldriver.NamedValue{Ordinal: i + 1, Value: arg})
		}
		rows, err := q.QueryContext(ctx, s.text, args)
		if err != nil {
			return err
		}
		row := make([]sqldriver.Value, 1)
		switch err = rows.Next(row); err {
		case nil:
			err = n.Scan(row[0])
		case io.EOF: //nolint:errorlint // that very value; a wrapped one is a lost connection
			err = nil
		}
		return cmp.Or(err, rows.Close()) // what Close reads may say that the commit has failed
	})
	if errors.Is(err, sqldriver.ErrSkip) {
		err = s.row(ctx, c, v).Scan(&n)
	}
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return n.Int64, err
}

// rows calls row with each row that the statement returns.
func (s *statement) rows(ctx context.Context, c *sql.Conn, v values, row func(scan func(...any) error) error) error {
	rows, err := c.QueryContext(ctx, s.text, s.args(v)...)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // the error of reading them is checked
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

var parameter = regexp.MustCompile(`:[a-z]+[0-9]*`)

// textual are the parameters that are texts. All others are numbers.
var textual = map[string]bool{"key": true, "owner": true, "from": true, "to": true, "prefix": true, "channel": true, "message": true}

// compile makes a statement of a template. It replaces {name} by what the dialect and
// the table have for that name, and :name by a parameter.
func (d Dialect) compile(t table, template string) *statement {
	s := &statement{}
	y := d.syntax()
	text := strings.NewReplacer(
		"{now}", y.now, "{max}", y.max, "{shared}", y.shared, "{update}", y.update, "{key}", y.key, "{with}", y.with,
		"{insert}", y.insert, "{conflict}", y.conflict, "{guarded}", y.guarded, "{commits}", y.commits,
		"{lock}", t.lock, "{member}", t.member, "{guard}", t.guard,
	).Replace(strings.ReplaceAll(template, "{row}", y.row))
	place := make(map[string]string) // of the parameters of PostgreSQL
	s.text = parameter.ReplaceAllStringFunc(text, func(name string) string {
		name = name[1:]
		if d != Postgres {
			s.names = append(s.names, name)
			return "?"
		}
		// The type is stated because the driver may send the value as text. That is
		// so when statements are not prepared, as behind a pooler.
		if place[name] == "" {
			s.names = append(s.names, name)
			kind := "bigint"
			if textual[strings.TrimRight(name, "0123456789")] {
				kind = "text"
			}
			place[name] = "CAST($" + strconv.Itoa(len(s.names)) + " AS " + kind + ")"
		}
		return place[name]
	})
	return s
}
