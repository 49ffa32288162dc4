package main

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/distlock-go/distlock"
)

//go:embed schema.sql
var schema string

// columns fails if the tables are missing, or are those of another program.
const columns = `SELECT sku, stock, fence FROM items LIMIT 0;
	SELECT id, sku, buyer, quantity, token FROM orders LIMIT 0`

// storeTimeout limits each operation of the database: without it one that hangs would
// hang the caller.
const storeTimeout = 20 * time.Second

// errDatabase means that the database failed, and that nothing was written.
var errDatabase = errors.New("the database failed")

// errCommit means that the database failed while it committed. It may have written
// everything or nothing.
var errCommit = errors.New("the database failed during the commit")

// store keeps items and orders in PostgreSQL or SQLite, which several processes may
// share. The statements are the same for both.
type store struct {
	read, write *sql.DB // one pool with PostgreSQL

	name    string // for errors
	timeout time.Duration
	schema  string
	created func(error) bool // whether another process is creating the tables
	temp    string           // directory to remove when the store is closed, or ""
}

// openStore opens the database at a postgres:// URL or in a file, and creates what is
// missing. With an empty value the database is temporary.
func openStore(ctx context.Context, value string) (_ *store, err error) {
	open := openSQLite
	if isPostgres(value) {
		open = openPostgres
	}
	s := &store{name: value, timeout: storeTimeout}
	if err = open(s, value); err == nil {
		err = s.prepare(ctx)
	}
	if err != nil {
		_ = s.close() // the first error is returned
		return nil, fmt.Errorf("%q: %w", s.name, oneLine(err))
	}
	return s, nil
}

// prepare creates the tables if they are missing.
func (s *store) prepare(ctx context.Context) error {
	const pause = 10 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	for {
		_, err := s.write.ExecContext(ctx, columns)
		if err == nil {
			return nil // creating tables needs a privilege, even if they are there
		}
		if _, err = s.write.ExecContext(ctx, s.schema); err == nil {
			_, err = s.write.ExecContext(ctx, columns)
			return err
		}
		if !s.created(err) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
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

// failure returns the error of an operation with ctx: errUnknownSKU if it found no row,
// and errDatabase if the failure is the database's.
func (s *store) failure(ctx context.Context, err error) error {
	switch {
	case err == nil, ctx.Err() != nil, errors.Is(err, distlock.ErrLost):
		return err
	case errors.Is(err, sql.ErrNoRows):
		return errUnknownSKU
	default:
		return fmt.Errorf("%w: %s: %w", errDatabase, s.name, oneLine(err))
	}
}
