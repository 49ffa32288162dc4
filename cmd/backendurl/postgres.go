package backendurl

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/backend/sqllock/pglisten"
)

// postgresParameters are the parameters of a URL, which mean what they mean to psql.
// The last one is pgx's, for a pooler in transaction mode: there is no listener then.
var postgresParameters = []string{
	"application_name", "channel_binding", "connect_timeout", "sslcert", "sslkey", "sslmode", "sslrootcert",
	"target_session_attrs", "default_query_exec_mode",
}

func connectPostgres(_ context.Context, u *hostURL) (*Backend, error) {
	config, err := parsePostgres(u)
	if err != nil {
		return nil, invalid(err)
	}
	// What comes from files, such as .pgpass and certificates, may be new: it is read again.
	again := func(_ context.Context, config *pgx.ConnConfig) error {
		fresh, err := parsePostgres(u)
		if err == nil {
			*config = *fresh
		}
		return err
	}
	var locks sqllock.Config
	if config.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement {
		locks.Listener = pglisten.New(config, again)
	}
	db := sql.OpenDB(postgresConnector{stdlib.GetConnector(*config, stdlib.OptionBeforeConnect(again))})
	b, err := connectSQL(db, sqllock.Postgres, locks)
	if err != nil {
		return nil, err
	}
	plain := func(f *pgconn.FallbackConfig) bool { return f.TLSConfig == nil } // sslmode=prefer, the default
	b.Password, b.TLS = config.Password != "", config.TLSConfig != nil && !slices.ContainsFunc(config.Fallbacks, plain)
	return b, nil
}

// postgresConnector opens connections. If it cannot, the error is one line, without the
// user, which pgx names.
type postgresConnector struct{ sqldriver.Connector }

// Connect implements [sqldriver.Connector]. The errors of the attempts differ only if the
// servers do or if one attempt was with TLS.
func (c postgresConnector) Connect(ctx context.Context) (sqldriver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if e, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		attempts := strings.Split(e.Unwrap().Error(), "\n")
		err = &hiddenError{strings.Join(slices.Compact(attempts), "; "), e.Unwrap()}
	}
	return conn, err
}

// parsePostgres takes what the URL does not say from environment variables and .pgpass, as
// psql does. An error is one line, without user and password.
func parsePostgres(u *hostURL) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(u.String())
	if err != nil {
		if parse, ok := errors.AsType[*pgconn.ParseConfigError](err); ok {
			// Its text begins with the URL between backquotes, which a URL does not contain.
			_, cause, _ := strings.Cut(parse.Error(), "`: ")
			err = errors.New(cause)
		}
		return nil, printable(err)
	}
	// The driver asks after 5 minutes whether a connection still works. Some networks have
	// forgotten it by then.
	config.DialFunc = (&net.Dialer{Timeout: config.ConnectTimeout}).DialContext
	if _, ok := u.parameter("target_session_attrs"); !ok && len(u.servers) > 1 && config.ValidateConnect == nil {
		config.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite // only the primary grants locks
	}
	return config, nil
}
