package sqllock_test

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/backend/sqllock"
)

// script is a driver of database/sql that answers as PostgreSQL with one key does, or
// as a test says. It does no I/O, so its tests can run in virtual time.
type script struct {
	// Each statement goes to before. It returns nil, or an error. The connection breaks
	// with it unless it is the database's.
	before func(conn int, query string) error

	ends    error         // what the end of the rows of a statement says
	refused error         // what a new connection fails with
	dials   time.Duration // how long it takes to connect
	gone    int           // the server has closed the connections up to this one

	// A connection up to silent has no answer to anything.
	silent int
	unseen bool   // no session sees what another has written
	owned  bool   // a release finds the key with its owner
	holder string // has the key for an hour
	asks   bool   // the driver asks connections that were idle, as pgx does
	probes int    // how many connections were asked whether they work

	mu    sync.Mutex
	conns int
	marks int64
	done  []string // statements with their parameters
}

// open returns a Backend on at most n connections.
func (s *script) open(t *testing.T, n int, config ...sqllock.Config) *sqllock.Backend {
	t.Helper()
	b, _ := s.openWith(t, n, config...)
	return b
}

func (s *script) openWith(t *testing.T, n int, config ...sqllock.Config) (*sqllock.Backend, *sql.DB) {
	t.Helper()
	db := sql.OpenDB(s)
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(max(n, 10))
	t.Cleanup(func() { _ = db.Close() }) // it has no connections that can fail
	return postgres.on(t, db, config...), db
}

// code is the code of an error that is the database's.
func code(err error) string {
	state, _ := errors.AsType[stateError](err)
	return string(state)
}

// idle lets n connections be used, and then be idle for that long.
func (s *script) idle(t *testing.T, b *sqllock.Backend, n int, long time.Duration) {
	t.Helper()
	if err := b.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	release := make(chan struct{})
	var all sync.WaitGroup
	s.before = func(_ int, query string) error {
		if strings.HasPrefix(query, "UPDATE") {
			<-release
		}
		return nil
	}
	for i := range n {
		all.Go(func() { _, _ = b.TryAcquire(t.Context(), request(strconv.Itoa(i), time.Minute)) })
	}
	synctest.Wait()
	close(release)
	all.Wait()
	s.before = nil
	time.Sleep(long)
}

// index returns the place of the last statement that has all the texts; -1 if none has.
func (s *script) index(texts ...string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, query := range slices.Backward(s.done) {
		if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(query, text) }) {
			return i
		}
	}
	return -1
}

// Connect implements [sqldriver.Connector].
func (s *script) Connect(ctx context.Context) (sqldriver.Conn, error) {
	if end, ok := ctx.Deadline(); ok && time.Until(end) < s.dials {
		time.Sleep(time.Until(end))
		return nil, os.ErrDeadlineExceeded // as package net says it if ctx is late
	}
	time.Sleep(s.dials)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns++
	if s.refused != nil {
		return nil, s.refused
	}
	return &scriptConn{s: s, n: s.conns, used: time.Now()}, nil
}

// Driver implements [sqldriver.Connector].
func (s *script) Driver() sqldriver.Driver { return nil }

type scriptConn struct {
	s      *script
	n      int
	broken bool
	used   time.Time
}

// IsValid implements [sqldriver.Validator].
func (c *scriptConn) IsValid() bool { return !c.broken }

var errScript = errors.New("not in the script")

func (c *scriptConn) Prepare(string) (sqldriver.Stmt, error) { return nil, errScript }
func (c *scriptConn) Begin() (sqldriver.Tx, error)           { return nil, errScript }
func (c *scriptConn) Close() error                           { return nil }

// Ping implements [sqldriver.Pinger].
func (c *scriptConn) Ping(ctx context.Context) error {
	c.s.mu.Lock()
	c.s.probes++
	c.s.mu.Unlock()
	return c.wait(ctx)
}

// ResetSession implements [sqldriver.SessionResetter]. As with pgx, a connection that
// was idle for a second has to answer.
func (c *scriptConn) ResetSession(ctx context.Context) error {
	if c.n <= c.s.gone || time.Since(c.used) > time.Second && c.s.asks && c.wait(ctx) != nil {
		return sqldriver.ErrBadConn
	}
	c.used = time.Now()
	return nil
}

// wait returns at once, or, if the connection is silent, when ctx ends.
func (c *scriptConn) wait(ctx context.Context) error {
	if c.n > c.s.silent {
		return nil
	}
	<-ctx.Done()
	c.broken = true
	return ctx.Err()
}

func (c *scriptConn) ExecContext(ctx context.Context, query string, args []sqldriver.NamedValue) (sqldriver.Result, error) {
	rows, err := c.answer(ctx, query, args)
	return sqldriver.RowsAffected(len(rows)), err
}

func (c *scriptConn) QueryContext(ctx context.Context, query string, args []sqldriver.NamedValue) (sqldriver.Rows, error) {
	rows, err := c.answer(ctx, query, args)
	return &scriptRows{rows, c.s.ends}, err
}

type scriptRows struct {
	rows [][]sqldriver.Value
	ends error
}

func (r *scriptRows) Close() error { return r.ends }

func (r *scriptRows) Columns() []string {
	if len(r.rows) == 0 {
		return nil
	}
	return make([]string, len(r.rows[0]))
}

func (r *scriptRows) Next(row []sqldriver.Value) error {
	if len(r.rows) == 0 {
		return io.EOF
	}
	copy(row, r.rows[0])
	r.rows = r.rows[1:]
	return nil
}

// answer returns the rows that a statement returns, or has changed.
func (c *scriptConn) answer(ctx context.Context, query string, args []sqldriver.NamedValue) ([][]sqldriver.Value, error) {
	s := c.s
	if s.before != nil {
		if err := s.before(c.n, query); err != nil {
			c.broken = c.broken || code(err) == ""
			return nil, err
		}
	}
	if err := c.wait(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	text := query
	for _, a := range args {
		if v, ok := a.Value.(string); ok {
			text += " " + v
		} else if a.Value == int64(-1) {
			text += " tombstone"
		}
	}
	s.done = append(s.done, text)
	now := time.Now().UnixMicro()
	key := []sqldriver.Value{"", int64(0), now, now, now, int64(0), int64(0), now}
	if s.holder != "" {
		key[0], key[4] = s.holder, now+time.Hour.Microseconds()
	}
	row := func(values ...sqldriver.Value) ([][]sqldriver.Value, error) { return [][]sqldriver.Value{values}, nil }
	has := func(text string) bool { return strings.Contains(query, text) }
	switch {
	case has("pg_is_in_recovery"):
		return row(nil)
	case has("SELECT token, prior_token"):
		if !s.unseen {
			s.marks++
		}
		return row(int64(1), s.marks)
	case has("LEFT JOIN"):
		return row(append(append([]sqldriver.Value{"key"}, key...), "", int64(0), int64(0), int64(0), int64(0), int64(0), int64(0), int64(0))...)
	case has("WITH l AS (SELECT *"):
		return row(key...)
	case has("SET owner = ''") && s.owned:
		return row(int64(1))
	case has("AS kept"): // a renewal
		return row(args[0].Value, args[1].Value)
	case has("busy = CAST"), has("_member"): // it is written
		return row(int64(1))
	}
	return nil, nil
}
