package sqllock

import (
	"errors"
	"fmt"
	"time"
)

// Defaults of the options.
const (
	DefaultTable     = "distlock"
	DefaultOpTimeout = 2 * time.Second
	DefaultRetention = 24 * time.Hour
)

// Option changes a default of [New] or [CreateTable]. If its value is invalid,
// they return an error that names the option and the value.
type Option func(*options)

type options struct {
	table     string
	opTimeout time.Duration
	retention time.Duration
	listener  Listener
	err       error // of the first invalid option
}

func newOptions(opts []Option) (options, error) {
	o := options{table: DefaultTable, opTimeout: DefaultOpTimeout, retention: DefaultRetention}
	for _, opt := range opts {
		if opt == nil {
			return o, errors.New("sqllock: nil Option")
		}
		if opt(&o); o.err != nil {
			return o, o.err
		}
	}
	return o, nil
}

// refuse makes the constructor fail because of an option.
func (o *options) refuse(option, format string, args ...any) {
	o.err = fmt.Errorf("sqllock: "+option+": "+format, args...)
}

// WithTable sets the name of the table, alone or with a schema: "shop.locks". The names
// of the other tables begin with it. All processes that share locks must use the same
// table. The default is [DefaultTable]. Each part is at most 48 letters, digits and
// underscores; anything else is refused.
func WithTable(name string) Option {
	return func(o *options) {
		if _, err := Postgres.parseTable(name); err != nil {
			o.refuse("WithTable", "%w", err)
		}
		o.table = name
	}
}

// WithOpTimeout bounds one operation on the database, including the wait for a
// connection. An operation that has no answer by then fails. The default is
// [DefaultOpTimeout]. Less than a millisecond is refused.
func WithOpTimeout(d time.Duration) Option {
	return func(o *options) {
		if d < time.Millisecond {
			o.refuse("WithOpTimeout", "%v is less than a millisecond", d)
		}
		o.opTimeout = d
	}
}

// WithRetention sets for how long the row of an unused key stays in the table. The row
// has the last token of the key. The tokens after its deletion are larger all the same,
// unless the database's clock was set back by more than the retention. The default is
// [DefaultRetention]. Less than a minute is refused.
func WithRetention(d time.Duration) Option {
	return func(o *options) {
		if d < time.Minute {
			o.refuse("WithRetention", "%v is less than a minute", d)
		}
		o.retention = d
	}
}

// WithListener sets what hears of releases in other processes, on PostgreSQL: see
// [Listener], of which package pglisten has one. All processes that share locks should
// have one, because it also makes the Backend tell the others. By default a Backend only
// looks at intervals. A nil Listener is refused, and with another database any Listener.
func WithListener(l Listener) Option {
	return func(o *options) {
		if l == nil {
			o.refuse("WithListener", "nil Listener")
		}
		o.listener = l
	}
}
