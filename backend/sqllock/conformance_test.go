package sqllock_test

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/locktest"
)

// lease is the TTL of leases that the suite lets expire.
const lease = 250 * time.Millisecond

// SQLite needs no server, so the suite runs on it at all times.
func TestConformance(t *testing.T) {
	each(t, func(t *testing.T, d database, dsn string) {
		if d.dialect != sqllock.SQLite {
			testmode.Long(t)
		}
		admin := d.pool(t, dsn)
		place := map[bool]string{true: "$1", false: "?"}[d.dialect == sqllock.Postgres]
		user := d.withLeastPrivileges(t, dsn)
		open := func(t *testing.T) driver.Backend { return d.open(t, user) }
		over := func(t *testing.T, _ driver.Backend, n *locktest.Network) driver.Backend {
			return d.on(t, (&store{database: d}).dialed(t, user, n.DialContext), sqllock.Config{OpTimeout: time.Second})
		}
		if d.dialect == sqllock.SQLite {
			over = nil
		}
		locktest.Run(t, open, locktest.Features{
			Lease:     lease,
			NoNetwork: over == nil,
			Over:      over,
			Peer:      func(t *testing.T, _ driver.Backend) driver.Backend { return open(t) },
			Drop: func(t *testing.T, _ driver.Backend, key string) {
				exec(t, admin, "UPDATE distlock SET owner = '' WHERE lock_key = "+place, key)
			},
		})
	})
}

// A database in memory has one connection, which does everything.
func TestInMemory(t *testing.T) {
	t.Parallel()
	testmode.InRealTime(t)
	db := inMemory(t)
	everyCall(t, sqlite.on(t, db), db)
}

// TestPlainDriver: the connections of the driver can do nothing but prepare statements, as
// those of some wrappers. Fails if an acquisition needs more of them.
func TestPlainDriver(t *testing.T) {
	t.Parallel()
	d := sqlite.pool(t, ":memory:").Driver()
	db := sql.OpenDB(plainConnector{d, sqlite.newTables(t)})
	t.Cleanup(func() { _ = db.Close() })
	everyCall(t, sqlite.on(t, db), db)
}

type plainConnector struct {
	driver sqldriver.Driver
	dsn    string
}

// Connect implements [sqldriver.Connector].
func (c plainConnector) Connect(context.Context) (sqldriver.Conn, error) {
	conn, err := c.driver.Open(c.dsn)
	return struct{ sqldriver.Conn }{conn}, err
}

// Driver implements [sqldriver.Connector].
func (c plainConnector) Driver() sqldriver.Driver { return c.driver }

func inMemory(t *testing.T) *sql.DB {
	t.Helper()
	db := sqlite.pool(t, ":memory:")
	db.SetMaxOpenConns(1)
	if err := sqllock.CreateTable(t.Context(), db, sqllock.SQLite, ""); err != nil {
		t.Fatal(err)
	}
	return db
}
