package proof_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/backend/sqllock/pglisten"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
	"github.com/distlock-go/distlock/internal/test/sqltest"
)

func startPostgres(t *testing.T) *store {
	t.Helper()
	dsn := sqltest.Postgres.NewDatabase(t) // on one server for all tests
	c, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	db := stdlib.OpenDB(*c)
	defer db.Close()
	if err := sqllock.CreateTable(t.Context(), db, sqllock.Postgres, sqllock.DefaultTable); err != nil {
		t.Fatal(err)
	}
	return &store{address: address{Kind: "sqllock", Addrs: []string{dsn}}}
}

// sql is address.backend for a database.
func (a address) sql(network *spoilnet.Network) (driver.Backend, func() error, error) {
	c, err := pgx.ParseConfig(a.Addrs[0])
	if err != nil {
		return nil, nil, err
	}
	c.DialFunc = network.DialContext
	db := stdlib.OpenDB(*c)
	b, err := sqllock.New(db, sqllock.Postgres, sqllock.Config{OpTimeout: 5 * time.Second, Listener: pglisten.New(c)})
	return b, db.Close, err
}
