package load

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
)

// Stores are the values that -backend takes. One of them is embedded, the default.
type Stores struct {
	Usage   string                                                  // describes them
	Open    func(ctx context.Context, rawURL string) (Store, error) // and checks that the store answers
	Name    func(rawURL string) string                              // the value without what is secret
	Mistake error                                                   // wrapped by errors of Open about the value itself
}

// Store is an open store.
type Store struct {
	driver.Backend

	End  func() error // closes what the Backend uses
	Same string       // the value that opens the same store again
}

var errBackend = errors.New("invalid backend")

// OnRedis are the stores of this module.
var OnRedis = Stores{
	Usage:   "where the locks are: embedded (a Redis in this process) or redis://[user:password@]host:port/db; go run ./lab/bench has all stores",
	Open:    openRedis,
	Name:    redisName,
	Mistake: errBackend,
}

func openRedis(ctx context.Context, rawURL string) (Store, error) {
	if rawURL == "embedded" {
		server, err := miniredis.Run()
		if err != nil {
			return Store{}, err
		}
		server.ClockTTL(true)
		s, err := openRedis(ctx, "redis://"+server.Addr())
		end := s.End
		s.End = func() error {
			defer server.Close()
			return end()
		}
		return s, err
	}
	opts, err := redis.ParseURL(rawURL)
	if err != nil { // it may quote a password
		return Store{}, fmt.Errorf("backend %q: %w: want embedded or redis://[user:password@]host:port/db; go run ./lab/bench has the other stores", redisName(rawURL), errBackend)
	}
	opts.PoolSize, opts.ContextTimeoutEnabled = max(64, opts.PoolSize), true
	logging.Disable() // the command reports its own errors
	client := redis.NewClient(opts)
	if err := client.Ping(ctx).Err(); err != nil {
		return Store{}, errors.Join(fmt.Errorf("backend %s: %w", redisName(rawURL), err), client.Close())
	}
	return Store{Backend: redislock.New(client, redislock.Config{}), End: client.Close, Same: rawURL}, nil
}

// redisName returns of a URL its scheme, its hosts and its path, and of what cannot be read
// nothing.
func redisName(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil || !strings.HasPrefix(u.Scheme, "redis") {
		return map[bool]string{true: rawURL, false: "…"}[rawURL == "embedded"]
	}
	return u.Scheme + "://" + u.Host + u.Path
}
