package pglisten_test

import (
	"log"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/backend/sqllock/pglisten"
)

// Example demonstrates locks in PostgreSQL whose release wakes the waiters of other
// processes. It needs a server, so it is compiled and not run.
//
//nolint:testableexamples // see above
func Example() {
	const dsn = "postgres://shop@db.example/shop"
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		log.Fatal(err)
	}
	backend, err := sqllock.Open("pgx", dsn, sqllock.WithListener(pglisten.New(config)))
	if err != nil {
		log.Fatal(err)
	}
	locker := distlock.New(backend, distlock.Config{})
	locker.Close()
}
