package backendurl

import (
	"context"
	"database/sql"

	_ "modernc.org/sqlite" // the driver

	"github.com/distlock-go/distlock/backend/sqllock"
)

// sqliteSettings let processes wait for each other. What a crash of the machine can undo are
// locks of processes that the crash ended.
const sqliteSettings = "?_pragma=busy_timeout(5000)&_pragma=synchronous(NORMAL)"

func connectSQLite(_ context.Context, u *hostURL) (*Backend, error) {
	db, err := sql.Open("sqlite", u.path+sqliteSettings)
	if err != nil {
		return nil, err
	}
	return connectSQL(db, sqllock.SQLite, sqllock.Config{})
}
