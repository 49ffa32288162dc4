package backendurl

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/backend/redissonlock"
)

func openRedis(ctx context.Context, rawURL string) (*Backend, error) {
	client, err := redisClient(rawURL)
	if err != nil {
		return nil, err
	}
	if err := reach(ctx, client); err != nil {
		_ = client.Close() // it was never used
		return nil, err
	}
	b := &Backend{Client: client, end: client.Close}
	if _, shared := cutRecord(rawURL); shared {
		b.Backend = redissonlock.New(client)
	} else {
		b.Backend = redislock.New(client)
	}
	return b, nil
}

// cutRecord removes the parameter record=redisson, which asks for locks that are shared with
// Redisson, and reports whether rawURL has it.
func cutRecord(rawURL string) (rest string, shared bool) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return rawURL, false
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil || !slices.Equal(query["record"], []string{"redisson"}) {
		return rawURL, false
	}
	query.Del("record")
	u.RawQuery = query.Encode()
	return u.String(), true
}

// redisClient returns the client of a URL. It does not connect.
func redisClient(rawURL string) (*redis.Client, error) {
	opts, err := parseRedis(rawURL)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrURL, err)
	}
	tune(opts)
	return redis.NewClient(opts), nil
}

// parseRedis is [redis.ParseURL] with three differences: it refuses URLs that ParseURL
// silently understands in another way, its errors never contain a password, and it knows the
// parameter of cutRecord.
func parseRedis(rawURL string) (*redis.Options, error) {
	u, err := url.Parse(rawURL)
	if strings.ContainsRune(rawURL, '@') {
		// Errors quote parts of the URL. They are safe to show only if the secret was
		// recognised as such.
		if err != nil || u.User == nil || strings.ContainsRune(u.Path+u.RawQuery+u.Fragment, '@') {
			return nil, errNotEncoded
		}
	}
	if err != nil {
		return nil, unquoted(err)
	}
	if u.Fragment != "" || strings.HasSuffix(rawURL, "#") {
		return nil, errors.New("unexpected #; percent-encode it if it belongs to the password")
	}
	rest, _ := cutRecord(rawURL)
	opts, err := redis.ParseURL(rest)
	if err != nil {
		return nil, printable(err)
	}
	if opts.DB < 0 {
		return nil, fmt.Errorf("the database number is negative: %d", opts.DB)
	}
	_, port, err := net.SplitHostPort(opts.Addr)
	if err != nil {
		return nil, errors.New("invalid host")
	}
	if err := checkPort(port); err != nil {
		return nil, err
	}
	return opts, nil
}

// printable keeps an error that quotes decoded text on one line.
func printable(err error) error {
	text := err.Error()
	if !strings.ContainsFunc(text, unicode.IsControl) {
		return err
	}
	return errors.New(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text))
}

// checkPort refuses ports on which no server can listen.
func checkPort(port string) error {
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return errors.New("invalid port: want a number from 1 to 65535")
	}
	return nil
}

// tune sets options that matter under load, unless the URL has set them. All locks
// share the client, so callers should not wait for a connection. More connections than
// processors only help against latency.
func tune(opts *redis.Options) {
	quieten()
	if opts.PoolSize == 0 {
		opts.PoolSize = max(64, 10*runtime.GOMAXPROCS(0))
	}
	opts.ContextTimeoutEnabled = true
}

// reach pings the server. A replica is enough, because it can be inspected.
func reach(ctx context.Context, client *redis.Client) error {
	b := redislock.New(client, redislock.WithOpTimeout(reachTimeout))
	err := b.Ping(ctx)
	if redis.HasErrorPrefix(err, "READONLY") {
		err = nil
	}
	_ = b.Close() // the client stays open
	return err
}

// quieten replaces the logger that go-redis has for all clients.
var quieten = sync.OnceFunc(func() { redis.SetLogger(debugLogger("redis")) })
