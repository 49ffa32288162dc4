package main

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite" // also registers the driver
)

//go:embed schema.sql
var schema string

// store keeps items and orders in SQLite. Several processes may share the file.
type store struct {
	// Readers do not wait for a writer (WAL), and writers of this process wait for the
	// single connection in order. With more connections SQLite would make writers retry
	// after pauses, without an order.
	read, write *sql.DB

	temp string // directory to remove when the store is closed, or ""
}

// openStore opens the database in the file at path, and creates it if necessary. With
// an empty path the database is temporary.
func openStore(ctx context.Context, path string) (_ *store, err error) {
	s := &store{}
	defer func() {
		if err != nil {
			_ = s.close() // the first error is returned
		}
	}()
	if path == "" {
		if s.temp, err = os.MkdirTemp("", "example_service-"); err != nil {
			return nil, err
		}
		path = filepath.Join(s.temp, "shop.db")
	}
	dsn, err := dataSource(path)
	if err != nil {
		return nil, err
	}
	if s.write, err = sql.Open("sqlite", dsn); err != nil {
		return nil, err
	}
	s.write.SetMaxOpenConns(1)
	if s.read, err = sql.Open("sqlite", dsn); err != nil {
		return nil, err
	}
	s.read.SetMaxOpenConns(8)
	s.read.SetMaxIdleConns(8)
	if err := s.prepare(ctx); err != nil {
		return nil, fmt.Errorf("opening %q: %w", path, err)
	}
	return s, nil
}

// prepare creates the tables. If processes that start together create the WAL of a new
// file, SQLite does not wait for the other process, whatever busy_timeout says.
func (s *store) prepare(ctx context.Context) error {
	const busy, tries, pause = 5, 100, 10 * time.Millisecond
	for try := 1; ; try++ {
		_, err := s.write.ExecContext(ctx, schema)
		if e, ok := errors.AsType[*sqlite.Error](err); !ok || e.Code()&0xff != busy || try == tries {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
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

func (s *store) close() error {
	var errs []error
	for _, db := range []*sql.DB{s.read, s.write} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	if s.temp != "" {
		errs = append(errs, os.RemoveAll(s.temp))
	}
	return errors.Join(errs...)
}
