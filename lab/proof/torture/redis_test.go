package torture

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/redistest"
)

// redisStore is one Redis server, or several independent ones. A server writes a change
// to a file before it replies, so a server that is killed does not lose anything.
type redisStore struct {
	servers []*redistest.Server
	dirs    []string
	admins  []*redis.Client
}

func startRedis(tb testing.TB, servers int) store {
	tb.Helper()
	s := new(redisStore)
	for range servers {
		dir := tb.TempDir()
		// With everysec Redis may reply before it writes.
		server := redistest.Start(tb, "--dir", dir, "--appendonly", "yes", "--appendfsync", "no")
		s.servers, s.dirs = append(s.servers, server), append(s.dirs, dir)
		s.admins = append(s.admins, server.Client(tb))
	}
	return s
}

func (s *redisStore) addrs() (all []string) {
	for _, server := range s.servers {
		all = append(all, server.Addr())
	}
	return all
}

func (s *redisStore) server(i int) *child.Server { return &s.servers[i].Server }

// empty removes the data of a killed server.
func (s *redisStore) empty(tb testing.TB, i int) {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(s.dirs[i], "*"))
	if err != nil {
		tb.Fatal(err)
	}
	for _, f := range files {
		if err := os.RemoveAll(f); err != nil {
			tb.Fatal(err)
		}
	}
}

// command sends a command to one server. The command may close its own connection.
func (s *redisStore) command(i int, args ...any) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = s.admins[i].Do(ctx, args...).Err()
}

// left returns the keys in the store, except those that keep tokens in order, tombstones
// that expire, and redlock's record of the server.
func (s *redisStore) left(int) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var left []string
	for i, c := range s.admins {
		keys := c.Scan(ctx, 0, "*", 1000).Iterator()
		for keys.Next(ctx) {
			key := keys.Val()
			ttl, err := c.PTTL(ctx, key).Result()
			if err != nil {
				return nil, err
			}
			const gone = -2 // expired meanwhile
			ends := strings.HasSuffix(key, "}:token") || strings.Contains(key, "}:gone")
			if ttl == gone || ends && ttl > 0 || key == "distlock:clock" || key == "distlock:redlock:memory" {
				continue
			}
			left = append(left, fmt.Sprintf("server %d has %s, which ends in %v", i, key, ttl))
		}
		if err := keys.Err(); err != nil {
			return nil, err
		}
	}
	return left, nil
}
