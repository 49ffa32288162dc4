package backendurl

import (
	"net"
	"strconv"
)

// Redact is redact.
var Redact = redact

// Parsed is the part of a parsed value that tests can see.
type Parsed struct {
	Servers        []string
	User, Password string
	TLS            bool
	Place          string // the database, the path of a file or the prefix
}

// Parse parses rawURL as Open does, without a connection. Open fails for the same values
// before it connects.
func Parse(rawURL string) (Parsed, error) {
	s, err := find(rawURL)
	if err != nil {
		return Parsed{}, err
	}
	var p Parsed
	switch s.prefix {
	case "redis://", "rediss://":
		o, err := parseRedis(rawURL)
		if err != nil {
			return p, err
		}
		p = Parsed{[]string{o.Addr}, o.Username, o.Password, o.TLSConfig != nil, strconv.Itoa(o.DB)}
	case "zk://":
		z, err := parseZooKeeper(rawURL)
		if err != nil {
			return p, err
		}
		p = Parsed{z.Servers, z.User, z.Password, false, z.Root}
	case "postgres://", "postgresql://":
		c, err := ParsePostgres(rawURL)
		if err != nil {
			return p, err
		}
		p = Parsed{[]string{join(c.Host, c.Port)}, c.User, c.Password, c.TLSConfig != nil, c.Database}
		for _, f := range c.Fallbacks {
			p.Servers = append(p.Servers, join(f.Host, f.Port))
		}
	case "mysql://":
		c, err := parseMySQL(rawURL)
		if err != nil {
			return p, err
		}
		p = Parsed{[]string{c.Addr}, c.User, c.Passwd, c.TLS != nil, c.DBName}
	case sqlitePrefix:
		p.Place, err = parseSQLite(rawURL)
	case "etcd://":
		c, prefix, err := parseEtcd(rawURL)
		if err != nil {
			return p, err
		}
		p = Parsed{c.Endpoints, c.Username, c.Password, c.TLS != nil, prefix}
	}
	return p, err
}

func join(host string, port uint16) string { return net.JoinHostPort(host, strconv.Itoa(int(port))) }
