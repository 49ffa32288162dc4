package sqllock

import (
	"database/sql"
	"errors"
	"fmt"

	"github.com/distlock-go/distlock/internal/background"
	"github.com/distlock-go/distlock/internal/firstuse"
)

// New returns a Backend that uses the connections of db, which the application may use,
// too. Close does not close db. If the number of connections is limited, one of them is
// reserved for renewals and releases: functions that hold all others lose no lock. So
// PostgreSQL and MySQL need a limit of at least 2. To keep the locks apart from the
// application, give New a pool of its own.
//
// New does not connect. The first call checks the tables, and fails if they are missing
// or were made by another version: see [CreateTable].
func New(db *sql.DB, d Dialect, config Config) (*Backend, error) {
	if db == nil {
		return nil, errors.New("sqllock: nil database")
	}
	if d.syntax() == nil {
		return nil, fmt.Errorf("sqllock: unknown dialect %v", d)
	}
	config, err := config.withDefaults(d)
	if err != nil {
		return nil, err
	}
	if d != SQLite && db.Stats().MaxOpenConnections == 1 {
		return nil, errors.New("sqllock: the database has a limit of one connection, and needs two: one is reserved for renewals")
	}
	t, err := d.parseTable(config.Table)
	if err != nil {
		return nil, fmt.Errorf("sqllock: Config.Table: %w", err)
	}
	b := &Backend{
		config: config, dialect: d, db: db, pool: newPool(db, d != SQLite, config.OpTimeout), sql: newStatements(d, t),
		wakes: newWakes(config.Listener), checked: firstuse.New(), background: background.New(),
	}
	b.background.Run(b.sweepAtIntervals)
	if config.Listener != nil {
		b.background.Run(func() { b.wakes.listen(b.background) })
	}
	return b, nil
}
