package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/distlock-go/distlock/internal/backendurl"
)

// config holds the values of the flags.
type config struct {
	httpAddr string
	grpcAddr string
	backend  string
	db       string
	think    time.Duration
	wait     time.Duration
	verbose  bool

	// Without a flag:
	grace       time.Duration // how long requests may take to end at shutdown
	bodyTimeout time.Duration // how long a client may take to send the body of a request
}

// parseFlags writes the help text to help and returns [flag.ErrHelp] if it is asked
// for. Other errors are one line.
func parseFlags(args []string, help io.Writer) (config, error) {
	c := config{grace: 10 * time.Second, bodyTimeout: 5 * time.Second}
	fs := flag.NewFlagSet("example_service", flag.ContinueOnError)
	fs.StringVar(&c.httpAddr, "http", "127.0.0.1:8080", "address for HTTP; port 0 selects a free port")
	fs.StringVar(&c.grpcAddr, "grpc", "127.0.0.1:9090", "address for gRPC; port 0 selects a free port")
	fs.StringVar(&c.backend, "backend", "embedded", backendurl.Usage)
	fs.StringVar(&c.db, "db", "", "`database` of items and orders, which several processes may share: postgres://[user:password@]host:port/db, "+
		"or a file for SQLite (default a temporary one)")
	fs.DurationVar(&c.think, "think", 2*time.Millisecond, "how long an order thinks between reading the stock and writing it")
	fs.DurationVar(&c.wait, "wait", 10*time.Second, "how long an order waits for its lock")
	fs.BoolVar(&c.verbose, "v", false, "log the events of each lock")

	// By default the package prints the whole help text after each error.
	var usage bytes.Buffer
	fs.SetOutput(&usage)
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		_, _ = usage.WriteTo(help)
		return c, err
	case err != nil:
		return c, fmt.Errorf("%w (-help lists the flags)", err)
	case fs.NArg() > 0:
		return c, fmt.Errorf("unexpected argument: %q", fs.Arg(0))
	case strings.Contains(c.db, "://") && !isPostgres(c.db):
		return c, fmt.Errorf("-db: want postgres://[user:password@]host:port/db or a file, got %q", backendurl.Name(c.db))
	case c.think < 0 || c.think > time.Hour:
		return c, fmt.Errorf("-think: want 0 to 1h, got %v", c.think)
	case c.wait < time.Millisecond || c.wait > time.Hour:
		return c, fmt.Errorf("-wait: want 1ms to 1h, got %v", c.wait)
	case isPostgres(c.db):
		if _, err := backendurl.ParsePostgres(c.db); err != nil {
			return c, fmt.Errorf("-db: %q: %w", backendurl.Name(c.db), err)
		}
	}
	return c, nil
}
