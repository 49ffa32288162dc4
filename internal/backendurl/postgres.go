package backendurl

import (
	"errors"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// postgresPort is the default port.
const postgresPort = "5432"

// postgresParameters are the parameters of a URL, which mean what they mean to psql.
// The last one is pgx's, for a pooler that does not know prepared statements.
var postgresParameters = []string{
	"application_name", "channel_binding", "connect_timeout", "sslcert", "sslkey", "sslmode", "sslrootcert",
	"target_session_attrs", "default_query_exec_mode",
}

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
