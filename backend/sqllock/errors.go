package sqllock

import (
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/text"
)

// ErrStale means that the lease that [Backend.Guard] was called with is not the newest
// of its key any more, or that the key was released. It matches [driver.ErrLost].
var ErrStale = fmt.Errorf("sqllock: stale lease: %w", driver.ErrLost)

// ErrNoTable means that the table for locks does not exist. [CreateTable] creates it.
var ErrNoTable = errors.New("the table for locks does not exist")

var (
	errClosed   = fmt.Errorf("sqllock: the Backend is closed (%w)", errors.ErrUnsupported)
	errNoAnswer = errors.New("no answer")
	errNoConn   = errors.New("no connection of the pool is free")
	errUnfit    = errors.New("a session of the pool cannot be used for locks")
	errIgnored  = fmt.Errorf("%w: the tables do not keep what is written: look for triggers, rules and policies", errUnfit)
	errReadOnly = fmt.Errorf("%w", errUnfit) // because of its server, or of where it leads
	errGuarded  = errors.New("a transaction that was guarded with the lease has not ended")
)

// unfit says why sessions cannot be used for locks, and what to do.
var unfit = map[string]error{
	"standby": fmt.Errorf("%w: the database is read-only, because it is a standby: connect to the primary, with pgx by target_session_attrs=read-write", errReadOnly),
	"read-only": fmt.Errorf("%w: the database is read-only in this session: connect to the primary, or set default_transaction_read_only (PostgreSQL) "+
		"or read_only (MySQL) to off", errReadOnly),
	"spoiled": fmt.Errorf("%w: a transaction was left open, or autocommit is off, or completion_type is CHAIN, or timestamp is set, "+
		"or keys are changed on their way (set client_encoding to UTF8 in PostgreSQL, character_set_connection to character_set_client in MySQL): "+
		"remove it from the data source name, init_connect and the server's settings, or give the locks a pool with a data source name of its own", errUnfit),
	"mode": fmt.Errorf("%w: sql_mode has EMPTY_STRING_IS_NULL, or sql_safe_updates is on, or sql_big_selects is off, or sql_select_limit is 0: remove it", errUnfit),
}

// remedy returns what to do about an error of the database that comes from its settings
// or from the user's; "" if that is not known.
func remedy(err error) string {
	switch code(err) {
	case "25006", "1290", "1792", "1836":
		return "new connections lead there, too: the address has to lead to the primary, or let the session write"
	case "42501", "1044", "1142", "1143":
		return "the user needs SELECT, INSERT, UPDATE and DELETE on the tables of the locks"
	case "26000", "42P05":
		return "behind a pooler in transaction mode, set default_query_exec_mode=exec for pgx"
	case "1568", "1690":
		return unfit["spoiled"].Error()
	}
	if errors.Is(err, sqldriver.ErrBadConn) {
		return "also on a new connection: the server ends it, or does not write"
	}
	return ""
}

// storeError says at which database an operation failed, and why.
type storeError struct {
	dialect Dialect
	err     error // for the caller
	cause   error // what err does not say; nil if there is nothing to add
	unsent  bool  // there was no connection
}

func (e *storeError) Error() string {
	s := text.OneLine(e.err)
	if e.cause != nil {
		s += ": " + text.OneLine(e.cause)
	}
	return fmt.Sprintf("sqllock: %v: %s", e.dialect, s)
}

// Unwrap omits the cause: the timeout of an operation would match the error of the
// caller's context.
func (e *storeError) Unwrap() error { return e.err }

var mysqlError = regexp.MustCompile(`^Error (\d+)`)

// code returns the code of the database's error: the SQLSTATE of PostgreSQL, the number
// of MySQL, or the name of SQLite; "" if it is none of these.
func code(err error) string {
	if e, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err); ok {
		return e.SQLState()
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		s := e.Error()
		if m := mysqlError.FindStringSubmatch(s); m != nil {
			return m[1]
		}
		for _, busy := range []string{"SQLITE_BUSY", "database is locked", "SQLITE_LOCKED", "database table is locked"} {
			if strings.Contains(s, busy) {
				return "SQLITE_BUSY"
			}
		}
		if strings.Contains(s, "no such table") {
			return "no such table"
		}
	}
	return ""
}

// undone reports whether the database says that it has undone all that an operation
// did, because of a conflict with another one.
func undone(err error) bool {
	return slices.Contains([]string{"40001", "40P01", "55P03", "1213", "1205", "SQLITE_BUSY"}, code(err))
}

// useless reports whether nothing was done, because of the connection: it has ended
// before, or leads to a server that does not write, or somebody has left a transaction
// there that failed, or has stopped its clock.
func useless(err error) bool {
	return slices.Contains([]string{"25006", "25P02", "1290", "1690", "1792", "1836"}, code(err)) ||
		errors.Is(err, errReadOnly) || errors.Is(err, sqldriver.ErrBadConn) || errors.Is(err, sql.ErrConnDone)
}

// ended reports whether the database says that it has ended the connection.
func ended(err error) bool {
	c := code(err)
	return c == "1053" || c == "1927" || strings.HasPrefix(c, "57P") || strings.HasPrefix(c, "08")
}

// noTable reports whether the database says that there is no such table.
func noTable(err error) bool {
	return slices.Contains([]string{"42P01", "3F000", "1146", "1049", "no such table"}, code(err))
}
