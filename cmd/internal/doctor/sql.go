package doctor

import (
	"context"
	"database/sql"
	"strconv"
	"strings"
	"time"
)

// sqlCheck is a check of a database.
type sqlCheck = check[*sql.DB]

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
	replicasWhy = "If a replica takes over, the locks that it has not received are lost: two holders are possible (P1)."
)
