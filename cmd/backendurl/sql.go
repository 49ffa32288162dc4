package backendurl

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/go-sql-driver/mysql"
	_ "modernc.org/sqlite" // the driver

	"github.com/distlock-go/distlock/backend/sqllock"
)

// sqlConns limits the connections to an SQL database: a server has about a hundred for all
// processes.
const sqlConns = 10

// idleTime is how long an idle connection stays open. Load balancers and NAT gateways forget
// it without a word, the first ones after four minutes.
const idleTime = 3 * time.Minute

// connectSQL returns the backend for db. It closes db if it fails.
func connectSQL(db *sql.DB, d sqllock.Dialect, config sqllock.Config) (*Backend, error) {
	db.SetMaxOpenConns(sqlConns)
	db.SetMaxIdleConns(sqlConns)
	db.SetConnMaxIdleTime(idleTime)
	b, err := sqllock.New(db, d, config)
	if err != nil {
		_ = db.Close() // it was never used
		return nil, err
	}
	reach := func(ctx context.Context) error { return reachSQL(ctx, db, d, b) }
	return &Backend{Backend: b, Client: db, Dialect: d, reach: reach, end: db.Close}, nil
}

// reachSQL checks that the database answers and has the tables. It tries to create them
// only if they are missing, because many users may not create tables.
func reachSQL(ctx context.Context, db *sql.DB, d sqllock.Dialect, b *sqllock.Backend) error {
	ctx, cancel := context.WithTimeout(ctx, ReachTimeout)
	defer cancel()
	err := b.Ping(ctx)
	missing := errors.Is(err, sqllock.ErrNoTable)
	if d == sqllock.SQLite && (err == nil || missing) {
		// Processes then read while another one writes. The file keeps the mode.
		if _, err := db.ExecContext(ctx, "PRAGMA journal_mode = WAL"); err != nil {
			return err
		}
	}
	if !missing {
		return err
	}
	if err := sqllock.CreateTable(ctx, db, d, sqllock.DefaultTable); err != nil {
		return err
	}
	return b.Ping(ctx)
}

func connectMySQL(_ context.Context, u *hostURL) (*Backend, error) {
	if u.name() == "" {
		return nil, invalid(errors.New("the database is missing: want mysql://host:port/db"))
	}
	connector, err := mysql.NewConnector(configMySQL(u))
	if err != nil {
		return nil, invalid(err)
	}
	return connectSQL(sql.OpenDB(connector), sqllock.MySQL, sqllock.Config{})
}

func configMySQL(u *hostURL) *mysql.Config {
	config := mysql.NewConfig()
	config.Net, config.Addr, config.Logger = "tcp", u.servers[0], &mysql.NopLogger{}
	config.RejectReadOnly = true // the address may lead to another server by now
	config.DBName, config.User, config.Passwd, config.TLS = u.name(), u.user.Username(), u.password(), u.tls
	return config
}

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
