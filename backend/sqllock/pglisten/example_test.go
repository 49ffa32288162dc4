package pglisten_test

import (
	"log"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/backend/sqllock/pglisten"
)

// Example demonstrates locks in PostgreSQL whose release wakes the waiters of other
// processes. It needs a server, so it is compiled and not run.
//
//nolint:testableexamples // see above
func Example() {
	config, err := pgx.ParseConfig("postgres://shop@db.example/shop")
	if err != nil {
		log.Fatal(err)
	}
	db := stdlib.OpenDB(*config)
	defer db.Close()
	backend, err := sqllock.New(db, sqllock.Postgres, sqllock.Config{Listener: pglisten.New(config)})
	if err != nil {
		log.Fatal(err)
	}
	locker := distlock.New(backend, distlock.Config{})
	locker.Close()
}
