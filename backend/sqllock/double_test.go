package sqllock_test

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	modernc "modernc.org/sqlite"
)

// double is SQLite in the place of PostgreSQL and MariaDB. It executes their statements, so
// that the quick tests notice an edit of one. It knows no locks of rows: one transaction
// writes at a time.
type double struct{ sqldriver.Driver }

// quick returns the kinds of databases that the quick tests use in the place of some.
func quick(all []database) []database {
	all = slices.Clone(all)
	for i := range all {
		if testing.Short() && all[i].engine != nil {
			all[i].driver, all[i].engine = "double", nil
		}
	}
	return all
}

// words are those of the servers, with what SQLite says for them. For # comes the number of
// the connection.
var words = strings.NewReplacer(
	"START TRANSACTION", "BEGIN IMMEDIATE", "INSERT IGNORE", "INSERT OR IGNORE", "ON DUPLICATE KEY UPDATE", "ON CONFLICT DO UPDATE SET",
	` COLLATE "C"`, "", " WITH (fillfactor = 50)", "", "varbinary(255)", "text", " ENGINE=InnoDB", "",
	"pg_notify(CAST($1 AS text), ", "told(#, ",
	"CAST(date_part('epoch', pg_catalog.clock_timestamp()) * 1000000 AS bigint)", "now(#, 0)",
	"TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))", "now(#, 0)", "LAST_INSERT_ID(", "last_insert_id(#, ",
	" FOR KEY SHARE", " AND share(#, lock_key)", " LOCK IN SHARE MODE", " AND share(#, lock_key)",
	" LIMIT 9223372036854775807 FOR UPDATE SKIP LOCKED", " AND unshared(#, lock_key)", " FOR UPDATE SKIP LOCKED", " AND unshared(#, lock_key)", " FOR UPDATE", "", " FOR NO KEY UPDATE", "",
	"greatest(", "max(", "GREATEST(", "max(", "set_config('synchronous_commit', 'off', true)", "'off'", "ctid", "rowid",
	"pg_is_in_recovery()", "0", "txid_current()", "0", "r.xmax", "0", "@@global.read_only", "0", "@@autocommit", "1", "@@completion_type", "''",
	"current_setting('transaction_read_only')", "'off'", "@@sql_mode", "'off'", "pg_client_encoding()", "'UTF8'", "getdatabaseencoding()", "'UTF8'",
	"ABS(TIMESTAMPDIFF(SECOND, NOW(), SYSDATE())) > 10", "0", "@@character_set_client <> @@character_set_connection", "0", "@@sql_safe_updates OR NOT @@sql_big_selects OR @@sql_select_limit = 0", "0",
	"FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'transactionid' AND mode = 'ExclusiveLock'", "WHERE 0",
)

// phrases are what takes more than other words.
var phrases = map[*regexp.Regexp]string{
	regexp.MustCompile(`^BEGIN ISOLATION LEVEL READ COMMITTED; .*`):           "BEGIN IMMEDIATE",
	regexp.MustCompile(`^(SET|ALTER TABLE|SELECT pg_advisory_xact_lock) ?.*`): "SELECT 1",
	regexp.MustCompile(`^UPDATE (.*) AS l JOIN (.*) AS g ON (.*) (SET .*)`):   "UPDATE $1 AS l $4 FROM $2 AS g WHERE $3",
	regexp.MustCompile(`IN \((\(.*?\))\)`):                                    "IN (VALUES $1)",
	regexp.MustCompile(`\$([0-9]+)`):                                          "?$1",
}

var translated sync.Map // by what the servers know

// doubles are the connections. Functions that SQLite calls know theirs by its number.
var doubles struct {
	sync.Mutex
	conns []*doubleConn
}

func init() {
	db, _ := sql.Open("sqlite", "") // for its driver
	defer db.Close()
	sql.Register("double", double{db.Driver()})
	for name, f := range map[string]func(c *doubleConn, arg sqldriver.Value) sqldriver.Value{
		"now":            func(*doubleConn, sqldriver.Value) sqldriver.Value { return time.Now().UnixMicro() },
		"last_insert_id": func(c *doubleConn, id sqldriver.Value) sqldriver.Value { c.id = id; return id },
		"told": func(c *doubleConn, payload sqldriver.Value) sqldriver.Value {
			c.told = append(c.told, payload)
			return nil
		},
		"share": func(c *doubleConn, key sqldriver.Value) sqldriver.Value { c.shares[key] = true; return true },
		"unshared": func(c *doubleConn, key sqldriver.Value) sqldriver.Value {
			return !slices.ContainsFunc(doubles.conns, func(o *doubleConn) bool { return o.dsn == c.dsn && o.shares[key] })
		},
	} {
		modernc.MustRegisterScalarFunction(name, 2, func(_ *modernc.FunctionContext, args []sqldriver.Value) (sqldriver.Value, error) {
			doubles.Lock()
			defer doubles.Unlock()
			return f(doubles.conns[args[0].(int64)], args[1]), nil //nolint:forcetypeassert // it is that
		})
	}
}

// Open implements [sqldriver.Driver].
func (d double) Open(dsn string) (sqldriver.Conn, error) {
	conn, err := d.Driver.Open(dsn)
	if err != nil {
		return nil, err
	}
	doubles.Lock()
	defer doubles.Unlock()
	c := &doubleConn{sqliteConn: conn.(sqliteConn), dsn: dsn, n: strconv.Itoa(len(doubles.conns)), shares: make(map[sqldriver.Value]bool)}
	doubles.conns = append(doubles.conns, c)
	return c, nil
}

type sqliteConn interface {
	sqldriver.Conn
	sqldriver.ConnBeginTx
	sqldriver.Pinger
	sqldriver.ExecerContext
	sqldriver.QueryerContext
}

type doubleConn struct {
	sqliteConn

	dsn, n string
	id     sqldriver.Value          // the last that LAST_INSERT_ID has returned
	shares map[sqldriver.Value]bool // the keys whose rows its transaction has locked
	told   []sqldriver.Value        // the payloads of its messages
}

func (c *doubleConn) ours(query string) string {
	known, ok := translated.Load(query)
	if !ok {
		text := words.Replace(query)
		for theirs, ours := range phrases {
			text = theirs.ReplaceAllString(text, ours)
		}
		known, _ = translated.LoadOrStore(query, text)
	}
	return strings.ReplaceAll(known.(string), "(#, ", "("+c.n+", ") //nolint:forcetypeassert // it is that
}

func (c *doubleConn) QueryContext(ctx context.Context, query string, args []sqldriver.NamedValue) (sqldriver.Rows, error) {
	return c.sqliteConn.QueryContext(ctx, c.ours(query), args)
}

func (c *doubleConn) ExecContext(ctx context.Context, query string, args []sqldriver.NamedValue) (sqldriver.Result, error) {
	c.id = int64(0)
	result, err := c.sqliteConn.ExecContext(ctx, c.ours(query), args)
	return doubleResult{result, c}, err
}

type doubleResult struct {
	sqldriver.Result

	c *doubleConn
}

func (r doubleResult) LastInsertId() (int64, error) { return r.c.id.(int64), nil } //nolint:forcetypeassert // it is that

func (c *doubleConn) BeginTx(ctx context.Context, opts sqldriver.TxOptions) (sqldriver.Tx, error) {
	tx, err := c.sqliteConn.BeginTx(ctx, opts)
	return doubleTx{tx, c}, err
}

type doubleTx struct {
	sqldriver.Tx

	c *doubleConn
}

func (tx doubleTx) Commit() error   { defer tx.c.unshare(); return tx.Tx.Commit() }
func (tx doubleTx) Rollback() error { defer tx.c.unshare(); return tx.Tx.Rollback() }

func (c *doubleConn) unshare() {
	doubles.Lock()
	defer doubles.Unlock()
	clear(c.shares)
}

// toldBy returns the payloads of the messages since it was called last.
func toldBy(of *store) (told []sqldriver.Value) {
	doubles.Lock()
	defer doubles.Unlock()
	for _, c := range doubles.conns {
		if c.dsn == of.dsn {
			told, c.told = append(told, c.told...), nil
		}
	}
	return told
}
