package backendurl

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/backend/redislock/embedded"
)

func openEmbedded(context.Context, string) (*Backend, error) {
	server := embedded.Start()
	opts := server.Options()
	tune(opts)
	client := redis.NewClient(opts)
	return &Backend{
		Backend: redislock.New(client),
		Client:  server,
		end: func() error {
			err := client.Close()
			if serverErr := server.Close(); err == nil {
				err = serverErr
			}
			return err
		},
	}, nil
}
