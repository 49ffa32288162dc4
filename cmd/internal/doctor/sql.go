package doctor

import (
	"context"
	"database/sql"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/distlock-go/distlock/backend/sqllock"
)

// sqlCheck is a check of a database.
type sqlCheck = check[*sql.DB]

// examineSQL applies the table of the dialect. file is that of SQLite.
func examineSQL(ctx context.Context, db *sql.DB, d sqllock.Dialect, file string) ([]Finding, error) {
	var table []sqlCheck
	switch d {
	case sqllock.Postgres:
		table = postgresChecks
	case sqllock.MySQL:
		table = mysqlChecks
	default:
		return examineFile(ctx, file)
	}
	first, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	if err := db.PingContext(first); err != nil {
		return nil, err
	}
	return run(ctx, db, table), nil
}

// query returns what judges the only value of a query. NULL is "".
func query(text string, judge func(value string) verdict) func(context.Context, *sql.DB) (verdict, error) {
	return func(ctx context.Context, db *sql.DB) (verdict, error) {
		value, err := read(ctx, db, text)
		if err != nil {
			return verdict{}, err
		}
		return judge(value), nil
	}
}

// read returns the only value of a query.
func read(ctx context.Context, db *sql.DB, text string) (string, error) {
	var value sql.NullString
	err := db.QueryRowContext(ctx, text).Scan(&value)
	return value.String, err
}

// is returns what judges a setting that has to have one value.
func is(want string, other func(seen, do string) verdict, do string) func(string) verdict {
	return func(value string) verdict {
		if strings.EqualFold(value, want) {
			return ok("%s", value)
		}
		return other(value, do)
	}
}

// atLeast returns what judges a version.
func atLeast(name string, major, minor int) func(string) verdict {
	return func(version string) verdict {
		if before(version, major, minor) {
			return fault(name+" "+version, "use "+name+" "+strconv.Itoa(major)+"."+strconv.Itoa(minor)+" or later")
		}
		return ok("%s %s", name, version)
	}
}

var leadingNumbers = regexp.MustCompile(`^\D*(\d+)\.?(\d*)`)

// before reports whether a version is before another one. What is no version is.
func before(version string, major, minor int) bool {
	m := leadingNumbers.FindStringSubmatch(version)
	if m == nil {
		return true
	}
	has, _ := strconv.Atoi(m[1])
	hasMinor, _ := strconv.Atoi(m[2])
	return has < major || has == major && hasMinor < minor
}

// judgeSnapshot judges the age of the oldest transaction in seconds.
func judgeSnapshot(seconds string) verdict {
	age, _ := strconv.Atoi(seconds)
	seen := "the oldest transaction has been open for " + (time.Duration(age) * time.Second).String()
	if age < 60 {
		return ok("%s", seen)
	}
	return warning(seen, "end it, and set idle_in_transaction_session_timeout in PostgreSQL")
}

// The reasons that databases share.
const (
	snapshotWhy = "While a transaction is open, the database keeps all versions of rows since then: keys that are locked often get slower (P5)."
	versionWhy  = "The locks need statements that older servers do not have, and the tests run on these versions only."
	roleWhy     = "Only the primary grants, renews and releases locks (P1)."
	replicasWhy = "A lock that the replica has not received is lost when the replica takes over: two holders are possible (P1)."
)
