package backendurl

import (
	"fmt"
	"strings"
)

// Redact is redact.
var Redact = redact

// Parsed is the part of a parsed URL that tests can see.
type Parsed struct {
	Servers        []string
	User, Password string // for Redis only
	TLS            bool
}

// Parse parses rawURL as Open does, without a connection. Open fails for the same URLs
// before it connects.
func Parse(rawURL string) (Parsed, error) {
	name, _, isURL := strings.Cut(strings.ToLower(rawURL), "://")
	switch {
	case isURL && name == "zk":
		servers, _, err := parseZooKeeper(rawURL)
		return Parsed{Servers: servers}, err
	case isURL && (name == "redis" || name == "rediss"):
		opts, err := parseRedis(rawURL)
		if err != nil {
			return Parsed{}, err
		}
		return Parsed{[]string{opts.Addr}, opts.Username, opts.Password, opts.TLSConfig != nil}, nil
	case name == "embedded" && !isURL:
		return Parsed{}, nil
	default:
		return Parsed{}, fmt.Errorf("no scheme: %w", ErrURL)
	}
}
