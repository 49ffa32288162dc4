package doctor

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/cmd/backendurl"
)

// reachTimeout limits the first request. It is that of backendurl.
const reachTimeout = 3 * time.Second

// Examine examines the store that rawURL names. prefix is what the keys of the locks
// begin with: a user may have rights for these keys alone. An error means that the store
// could not be examined, because it does not answer or does not let the user in, or that
// the URL is invalid ([backendurl.ErrURL]).
func Examine(ctx context.Context, rawURL, prefix string) (*Report, error) {
	store, err := backendurl.Connect(ctx, rawURL)
	if err != nil {
		return nil, err
	}
	defer store.Close() //nolint:errcheck // nothing depends on it
	var findings []Finding
	switch c := store.Client.(type) {
	case *redis.Client:
		findings, err = examineRedis(ctx, c, prefix)
	case *backendurl.ZooKeeper:
		findings, err = examineZooKeeper(ctx, c)
	case *clientv3.Client:
		findings, err = examineEtcd(ctx, c, store.Prefix)
	case *sql.DB:
		switch store.Dialect {
		case sqllock.Postgres:
			findings, err = examinePostgres(ctx, c)
		case sqllock.MySQL:
			findings, err = examineMySQL(ctx, c)
		case sqllock.SQLite:
			findings, err = examineSQLite(ctx, c, store.File)
		}
	}
	name := backendurl.Name(rawURL)
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("backend %q: the examination did not end in time: %w", name, ctx.Err())
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("backend %q: no answer within %v: %w", name, reachTimeout, err)
	case err != nil:
		return nil, fmt.Errorf("backend %q: %w", name, err)
	}
	return &Report{Store: name, Findings: findings}, nil
}
