package doctor

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/cmd/backendurl"
)

// Examine examines the store that rawURL names. prefix is what the keys of the locks
// begin with: a user may have rights for these keys alone. An error means that the store
// could not be examined, because it does not answer or does not let the user in, or that
// the URL is invalid ([backendurl.ErrURL]).
func Examine(ctx context.Context, rawURL, prefix string) (*Report, error) {
	store, err := backendurl.Connect(ctx, rawURL)
	if err != nil {
		return nil, err
	}
	locker := distlock.New(store.Backend, distlock.Config{HandOverTime: -1})
	defer func() { _, _ = locker.Close(), store.Close() }() // nothing depends on it
	name := backendurl.Name(rawURL)
	findings, err := examine(ctx, store)
	if err == nil {
		findings = append(findings, run(ctx, store, connectionChecks)...)
		if !slices.ContainsFunc(findings, func(f Finding) bool { return f.ID == "file" }) { // to open it would create it
			t := &trial{locker: locker, store: store, url: rawURL, key: prefix + "distlock:doctor:" + uuid.NewString()}
			findings = append(findings, run(ctx, t, lockChecks)...)
		}
	}
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("backend %q: the examination did not end in time: %w", name, ctx.Err())
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("backend %q: no answer within %v: %w", name, backendurl.ReachTimeout, err)
	case err != nil:
		return nil, fmt.Errorf("backend %q: %w", name, err)
	}
	return &Report{Store: name, Findings: findings}, nil
}

// examine applies the table of the store. It returns an error if the store does not answer.
func examine(ctx context.Context, store *backendurl.Backend) ([]Finding, error) {
	switch c := store.Client.(type) {
	case *redis.Client:
		return examineRedis(ctx, c)
	case *sql.DB:
		return examineSQL(ctx, c, store.Dialect, store.Servers[0])
	case backendurl.Kube:
		return examineKube(ctx, c)
	case backendurl.DynamoDB:
		return examineDynamoDB(ctx, c)
	case backendurl.S3:
		return examineS3(ctx, c)
	default:
		return examineMembers(ctx, store)
	}
}

// examineSQL applies the table of the dialect. file is the database of SQLite.
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
	first, cancel := context.WithTimeout(ctx, backendurl.ReachTimeout)
	defer cancel()
	if err := db.PingContext(first); err != nil {
		return nil, err
	}
	return run(ctx, db, table), nil
}
