package main

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/distlock-go/distlock/internal/backendurl"
	"github.com/distlock-go/distlock/internal/text"
)

// openPostgres opens the PostgreSQL database at rawURL.
func openPostgres(s *store, rawURL string) error {
	s.name = backendurl.Name(rawURL) // without the password
	config, err := backendurl.ParsePostgres(rawURL)
	if err != nil {
		return err
	}
	db := stdlib.OpenDB(*config)
	// Without a limit a burst of orders would use up the connections of the server.
	const most = 16
	db.SetMaxOpenConns(most)
	db.SetMaxIdleConns(most)
	s.read, s.write, s.created = db, db, isDuplicate
	s.schema = strings.Replace(schema, "INTEGER PRIMARY KEY AUTOINCREMENT", "BIGINT PRIMARY KEY GENERATED ALWAYS AS IDENTITY", 1)
	return nil
}

// isDuplicate reports whether err is that of CREATE TABLE IF NOT EXISTS while another
// process creates the same table.
func isDuplicate(err error) bool {
	const uniqueViolation, duplicateTable, duplicateObject = "23505", "42P07", "42710"
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (e.Code == uniqueViolation || e.Code == duplicateTable || e.Code == duplicateObject)
}

// oneLine returns the cause of err in one line. pgx has a line for each attempt: to each
// host, with and without TLS.
func oneLine(err error) error {
	if e, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		err = e.Unwrap() // without the user
	}
	return errors.New(text.OneLine(err))
}

// isPostgres reports whether the value of -db is a URL of PostgreSQL.
func isPostgres(value string) bool {
	scheme, _, isURL := strings.Cut(value, "://")
	return isURL && (scheme == "postgres" || scheme == "postgresql")
}
