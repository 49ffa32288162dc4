package rediskit_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
)

// A Backend for each request is noticed at the tenth, unless they are closed.
func TestManyBackends(t *testing.T) {
	type wrapper struct {
		redis.UniversalClient
		notComparable []int
	}
	one, other := redis.NewClient(&redis.Options{}), redis.NewClient(&redis.Options{})
	defer one.Close()
	defer other.Close()
	for name, c := range map[string]struct {
		client func(i int) redis.UniversalClient
		close  bool
		want   int
	}{
		"never closed":   {func(int) redis.UniversalClient { return one }, false, 1},
		"closed":         {func(int) redis.UniversalClient { return one }, true, 0},
		"two clients":    {func(i int) redis.UniversalClient { return []*redis.Client{one, other}[i%2] }, false, 2},
		"not comparable": {func(int) redis.UniversalClient { return wrapper{one, nil} }, false, 0},
	} {
		var log bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&log, nil))
		var all []func()
		for i := range 30 {
			closed := rediskit.Opened("pkg", logger, c.client(i))
			if all = append(all, closed, closed); c.close {
				closed()
			}
		}
		if n := strings.Count(log.String(), "many Backends"); n != c.want {
			t.Errorf("%s: %d warnings:\n%s", name, n, &log)
		}
		for _, closed := range all {
			closed()
		}
	}
}
