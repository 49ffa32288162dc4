package backendurl

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

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

// checkFile checks a path, which is taken as it is, without percent-encoding and
// parameters, as a user of a shell expects.
func checkFile(path string) error {
	switch {
	case path == "":
		return errors.New("the path is missing: want sqlite:path")
	case strings.HasPrefix(path, "//"):
		return errors.New("want sqlite:path without slashes before the path")
	case strings.HasPrefix(path, "file:"):
		return errors.New("want sqlite:path without file: before the path")
	case strings.HasPrefix(path, ":"):
		return fmt.Errorf("%q is not a file", path)
	case strings.ContainsRune(path, 0):
		return errors.New("the path has a zero byte")
	case strings.ContainsRune(path, '?'):
		return errors.New("a SQLite database has no parameters, and its path must not have a ?")
	case strings.HasSuffix(path, "/"):
		return fmt.Errorf("%q is a folder: want a file", path)
	}
	return nil
}
