package backendurl

import (
	"errors"
	"net"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// Redact is redact.
var Redact = redact

// ParsePostgres returns what the driver gets.
func ParsePostgres(rawURL string) (*pgx.ConnConfig, error) {
	_, u, err := parse(rawURL)
	if err != nil {
		return nil, err
	}
	return parsePostgres(u)
}

// Parsed is the part of a parsed value that tests can see.
type Parsed struct {
	Servers        []string
	User, Password string
	TLS            bool
	Place          string // the database, the path of a file or the prefix
}

// Parse parses rawURL as Open does, without a connection. Open refuses the same values, and
// a few more, before it connects.
func Parse(rawURL string) (Parsed, error) {
	s, u, err := parse(rawURL)
	if err == nil {
		err = s.check(u)
	}
	if err != nil {
		return Parsed{}, err
	}
	p := Parsed{u.servers, u.user.Username(), u.password(), u.tls != nil, u.path}
	switch s.prefix {
	case "redis://", "rediss://":
		o, _, _, err := parseRedis(u)
		if err != nil {
			return p, err
		}
		p = Parsed{[]string{o.Addr}, o.Username, o.Password, o.TLSConfig != nil, strconv.Itoa(o.DB)}
	case "mysql://":
		c := configMySQL(u)
		p = Parsed{[]string{c.Addr}, c.User, c.Passwd, c.TLS != nil, c.DBName}
		if !c.RejectReadOnly {
			return p, errors.New("a demoted server would be asked again and again")
		}
	case "postgres://", "postgresql://":
		c, err := parsePostgres(u)
		if err != nil {
			return p, err
		}
		p = Parsed{[]string{join(c.Host, c.Port)}, c.User, c.Password, c.TLSConfig != nil, c.Database}
		for _, f := range c.Fallbacks {
			p.Servers = append(p.Servers, join(f.Host, f.Port))
		}
	}
	return p, err
}

func join(host string, port uint16) string { return net.JoinHostPort(host, strconv.Itoa(int(port))) }
