package backendurl

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/backend/sqllock/pglisten"
)

// postgresPort is the default port.
const postgresPort = "5432"

// postgresParameters are the parameters of a URL, which mean what they mean to psql.
// The last one is pgx's, for a pooler in transaction mode: there is no listener then.
var postgresParameters = []string{
	"application_name", "channel_binding", "connect_timeout", "sslcert", "sslkey", "sslmode", "sslrootcert",
	"target_session_attrs", "default_query_exec_mode",
}

func openPostgres(ctx context.Context, rawURL string) (*Backend, error) {
	db, config, err := postgresDB(rawURL)
	if err != nil {
		return nil, err
	}
	var opts []sqllock.Option
	if config.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement {
		opts = append(opts, sqllock.WithListener(pglisten.New(config, readAgain(rawURL))))
	}
	return openSQL(ctx, db, sqllock.Postgres, opts...)
}

// postgresDB returns the pool of a URL, and what the URL says. It does not connect.
func postgresDB(rawURL string) (*sql.DB, *pgx.ConnConfig, error) {
	config, err := ParsePostgres(rawURL)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrURL, err)
	}
	return sql.OpenDB(postgresConnector{stdlib.GetConnector(*config, stdlib.OptionBeforeConnect(readAgain(rawURL)))}), config, nil
}

// readAgain returns what parses the URL before each connection: what it takes from files,
// such as .pgpass and certificates, may be new.
func readAgain(rawURL string) func(context.Context, *pgx.ConnConfig) error {
	return func(_ context.Context, config *pgx.ConnConfig) error {
		fresh, err := ParsePostgres(rawURL)
		if err == nil {
			*config = *fresh
		}
		return err
	}
}

// postgresConnector opens connections. If it cannot, the error is one line, without the
// user, which pgx names.
type postgresConnector struct{ sqldriver.Connector }

// Connect implements [sqldriver.Connector].
func (c postgresConnector) Connect(ctx context.Context) (sqldriver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if e, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		err = &postgresError{e.Unwrap()}
	}
	return conn, err
}

type postgresError struct{ err error }

// Error returns the errors of the attempts, which differ only if the servers do or if one
// attempt was with TLS.
func (e *postgresError) Error() string {
	return strings.Join(slices.Compact(strings.Split(e.err.Error(), "\n")), "; ")
}

func (e *postgresError) Unwrap() error { return e.err }

// ParsePostgres is [pgx.ParseConfig] with the differences that parseRedis has. Like psql
// it takes what the URL does not say from environment variables and .pgpass. An error is
// one line, without user and password.
func ParsePostgres(rawURL string) (*pgx.ConnConfig, error) {
	u, err := parseHosts(rawURL, postgresPort)
	if err != nil {
		return nil, err
	}
	name, err := u.database()
	if err != nil {
		return nil, err
	}
	if err := u.onlyParameters(postgresParameters...); err != nil {
		return nil, err
	}
	if u.user != nil {
		if password, _ := u.user.Password(); strings.ContainsRune(u.user.Username()+password, 0) {
			return nil, errors.New("user or password has a zero byte")
		}
	}
	again := url.URL{Scheme: "postgres", User: u.user, Host: strings.Join(u.servers, ","), Path: "/" + name, RawQuery: u.query.Encode()}
	config, err := pgx.ParseConfig(again.String())
	if err != nil {
		if parse, ok := errors.AsType[*pgconn.ParseConfigError](err); ok {
			// Its text begins with the URL between backquotes, which a URL does not contain.
			_, cause, _ := strings.Cut(parse.Error(), "`: ")
			err = errors.New(cause)
		}
		return nil, printable(err)
	}
	return config, nil
}
