package sqllock

import (
	"cmp"
	"fmt"
	"time"
)

// DefaultTable is the name of the table if no other is chosen.
const DefaultTable = "distlock"

const (
	defaultOpTimeout = 2 * time.Second
	defaultRetention = 24 * time.Hour
)

// Config configures a [Backend]. Its zero value works. A wrong field makes [New] fail
// with an error that names the field and the value.
type Config struct {
	// Table is the name of the table, alone or with a schema: "shop.locks". The names
	// of the other tables begin with it. All processes that share locks must use the
	// same table. Each part is at most 48 letters, digits and underscores. The default
	// is [DefaultTable].
	Table string

	// OpTimeout bounds one operation on the database, including the wait for a
	// connection. An operation that has no answer by then fails. It is at least a
	// millisecond. The default is 2 seconds.
	OpTimeout time.Duration

	// Retention is for how long the row of an unused key stays in the table. The row
	// has the last token of the key. The tokens after its deletion are larger all the
	// same, unless the database's clock was set back by more than the retention. It is
	// at least a minute. The default is 24 hours.
	Retention time.Duration

	// Listener hears of releases in other processes: see [Listener], of which package
	// pglisten has one. It works with PostgreSQL alone. All processes that share locks
	// should have one, because it also makes the Backend tell the others. By default a
	// Backend only looks at intervals.
	Listener Listener
}

// withDefaults fills in the zero fields, and refuses what makes no sense with the
// dialect.
func (c Config) withDefaults(d Dialect) (Config, error) {
	c.Table = cmp.Or(c.Table, DefaultTable)
	c.OpTimeout = cmp.Or(c.OpTimeout, defaultOpTimeout)
	c.Retention = cmp.Or(c.Retention, defaultRetention)
	switch {
	case c.OpTimeout < time.Millisecond:
		return c, fmt.Errorf("sqllock: Config.OpTimeout: %v is less than a millisecond", c.OpTimeout)
	case c.Retention < time.Minute:
		return c, fmt.Errorf("sqllock: Config.Retention: %v is less than a minute", c.Retention)
	case c.Listener != nil && d != Postgres:
		return c, fmt.Errorf("sqllock: Config.Listener: %T: %v has no messages", c.Listener, d)
	}
	return c, nil
}
