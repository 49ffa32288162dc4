package doctor

import (
	"context"
	"net"
	"slices"

	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/cmd/backendurl"
)

// connectionChecks are about the URL.
var connectionChecks = []check[*backendurl.Backend]{
	{"authentication", access, "Every client that can write the keys can take every lock (P1, P6).", authentication},
	{"tls", access, "Without TLS the network can read passwords and owners, and an owner is all that is needed to release a lock (P6).", encryption},
}

// authentication judges a URL with or without a password. SQL databases know other ways.
func authentication(_ context.Context, b *backendurl.Backend) (verdict, error) {
	const do = "set a user and a password, and put them into the URL"
	switch {
	case b.Dialect != 0:
		return verdict{}, nil
	case b.Password:
		return ok("the URL has a password"), nil
	case onLoopback(b.Servers):
		return note("none: every program of this machine can take every lock", do), nil
	default:
		return warning("none: every machine that reaches the server can take every lock", do), nil
	}
}

// encryption judges a connection with or without TLS.
func encryption(_ context.Context, b *backendurl.Backend) (verdict, error) {
	switch {
	case b.Dialect == sqllock.SQLite: // there is no connection
		return verdict{}, nil
	case b.TLS:
		return ok("on"), nil
	case onLoopback(b.Servers):
		return ok("not required, on this machine"), nil
	default:
		return note("not required", "use TLS (of PostgreSQL: ?sslmode=verify-full in the URL), or a network that you trust"), nil
	}
}

// onLoopback reports whether all servers are on this machine.
func onLoopback(servers []string) bool {
	return !slices.ContainsFunc(servers, func(addr string) bool {
		host, _, err := net.SplitHostPort(addr)
		ip := net.ParseIP(host)
		return err == nil && host != "localhost" && (ip == nil || !ip.IsLoopback())
	})
}
