package backendurl

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/distlock-go/distlock/backend/sqllock"
)

// Store is a store without a backend, for a command that looks at the store itself.
type Store struct {
	// Client is a *redis.Client, a *sql.DB, a *clientv3.Client or a [ZooKeeper], which
	// is not connected.
	Client any

	Dialect sqllock.Dialect // of a *sql.DB
	File    string          // of SQLite
	Prefix  string          // of the keys in etcd

	end func() error
}

// Close closes the client.
func (s *Store) Close() error { return s.end() }

// Connect returns the client of the store that rawURL names. In contrast to [Open], it
// does not check whether the store can keep locks, and it does not create or change
// anything. With etcd and a user it logs in. Errors are those of Open. A store inside
// this process is refused.
func Connect(ctx context.Context, rawURL string) (*Store, error) {
	s, err := connect(ctx, rawURL)
	if err != nil {
		return nil, refused(rawURL, err)
	}
	return s, nil
}

func connect(ctx context.Context, rawURL string) (*Store, error) {
	kind, err := find(rawURL)
	switch {
	case err != nil:
		return nil, err
	case InProcess(rawURL):
		return nil, fmt.Errorf("%w: its locks are inside this process", ErrURL)
	}
	switch kind.prefix {
	case "redis://", "rediss://":
		client, err := redisClient(rawURL)
		if err != nil {
			return nil, err
		}
		return &Store{Client: client, end: client.Close}, nil
	case "zk://":
		z, err := parseZooKeeper(rawURL)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrURL, err)
		}
		return &Store{Client: z, end: func() error { return nil }}, nil
	case "postgres://", "postgresql://":
		db, _, err := postgresDB(rawURL)
		if err != nil {
			return nil, err
		}
		return sqlStore(db, sqllock.Postgres), nil
	case "mysql://":
		db, err := mysqlDB(rawURL)
		if err != nil {
			return nil, err
		}
		return sqlStore(db, sqllock.MySQL), nil
	case sqlitePrefix:
		path, err := parseSQLite(rawURL)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrURL, err)
		}
		db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(5000)") // the journal mode stays
		if err != nil {
			return nil, err
		}
		s := sqlStore(db, sqllock.SQLite)
		s.File = path
		return s, nil
	case "etcd://":
		client, prefix, end, err := etcdClient(ctx, rawURL)
		if err != nil {
			return nil, err
		}
		return &Store{Client: client, Prefix: prefix, end: end}, nil
	default:
		return nil, fmt.Errorf("no client for %s", kind.prefix)
	}
}

func sqlStore(db *sql.DB, d sqllock.Dialect) *Store {
	db.SetMaxOpenConns(2)
	return &Store{Client: db, Dialect: d, end: db.Close}
}
