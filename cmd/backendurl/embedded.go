package backendurl

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/backend/redislock/embedded"
)

func connectEmbedded(context.Context, *hostURL) (*Backend, error) {
	server := embedded.Start()
	opts := server.Options()
	tune(opts)
	client := redis.NewClient(opts)
	return &Backend{
		Backend: redislock.New(client),
		Client:  server,
		reach:   func(context.Context) error { return nil },
		end:     func() error { return errors.Join(client.Close(), server.Close()) },
	}, nil
}
