package backendurl

import (
	"context"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
)

// connectEmbedded starts a miniredis in the process, whose keys expire in real time.
func connectEmbedded(context.Context, *hostURL) (*Backend, error) {
	server, err := miniredis.Run()
	if err != nil {
		return nil, err
	}
	server.ClockTTL(true)
	client := newRedis(&redis.Options{Addr: server.Addr()})
	return &Backend{
		Backend: redislock.New(client, redislock.Config{}),
		Client:  client,
		reach:   func(context.Context) error { return nil },
		end: func() error {
			defer server.Close()
			return client.Close()
		},
	}, nil
}
