package rediskit_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/internal/background"
)

// End waits for an operation that was abandoned, up to its limit.
func TestEndWaitsForAbandonedCalls(t *testing.T) {
	for takes, want := range map[time.Duration]time.Duration{3 * time.Second: 3 * time.Second, time.Hour: time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			bg := background.New()
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			op := func(context.Context) (int, error) {
				time.Sleep(takes)
				return 0, nil
			}
			rediskit.Call(ctx, bg, op, func(int, error) {})
			start := time.Now()
			bg.End(time.Minute)
			if d := time.Since(start); d != want {
				t.Errorf("End took %v, want %v", d, want)
			}
			time.Sleep(takes) // the bubble ends with its goroutines
		})
	}
}

// replied is an error that a server has sent.
type replied struct{ error }

func (replied) RedisError() {}

// Only the client of one server is told that it needs a client of a Cluster.
func TestMoved(t *testing.T) {
	one, cluster := redis.NewClient(&redis.Options{}), redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:7"}})
	defer one.Close()
	defer cluster.Close()
	for text, moved := range map[string]bool{"MOVED 1 127.0.0.1:8": true, "ASK 1 127.0.0.1:8": true, "TRYAGAIN later": false} {
		for _, c := range []redis.UniversalClient{one, cluster} {
			err := rediskit.NewServer("pkg", c, background.New(), time.Second).Explain(replied{errors.New(text)})
			if want := moved && c == one; errors.Is(err, errors.ErrUnsupported) != want || strings.Contains(err.Error(), "NewClusterClient") != want {
				t.Errorf("%T: %v", c, err)
			}
		}
	}
}
