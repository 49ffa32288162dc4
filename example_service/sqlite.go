package main

import (
	"database/sql"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"modernc.org/sqlite" // also registers the driver
)

// openSQLite opens the file at path, or a temporary one.
func openSQLite(s *store, path string) (err error) {
	s.schema, s.created = schema, isBusy
	if path == "" {
		if s.temp, err = os.MkdirTemp("", "example_service-"); err != nil {
			return err
		}
		path = filepath.Join(s.temp, "shop.db")
		s.name = path
	}
	dsn, err := dataSource(path)
	if err != nil {
		return err
	}
	// Readers do not wait for a writer (WAL), and writers of this process wait for the
	// single connection in order. With more connections SQLite would make writers retry
	// after pauses, without an order.
	if s.write, err = sql.Open("sqlite", dsn); err != nil {
		return err
	}
	s.write.SetMaxOpenConns(1)
	if s.read, err = sql.Open("sqlite", dsn); err != nil {
		return err
	}
	s.read.SetMaxOpenConns(8)
	s.read.SetMaxIdleConns(8)
	return nil
}

// isBusy reports whether err is SQLITE_BUSY. If processes that start together create the
// WAL of a new file, SQLite does not wait for the other process, whatever busy_timeout
// says.
func isBusy(err error) bool {
	const busy = 5
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && e.Code()&0xff == busy
}

// dataSource returns the URI of a database file. Statements wait for another process
// that has locked the file. Transactions are "immediate": they take the write lock when
// they begin, because a transaction that read first could not get it any more after
// another process has written.
func dataSource(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter
	}
	u := url.URL{Scheme: "file", Path: path, RawQuery: url.Values{
		"_pragma": {"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(NORMAL)"},
		"_txlock": {"immediate"},
	}.Encode()}
	return u.String(), nil
}
