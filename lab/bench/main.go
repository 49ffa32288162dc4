// Command bench is the load test of the folder bench, whose comment describes it, on every
// store.
//
//	go run ./lab/bench -backend zk://127.0.0.1:2181/bench
package main

import (
	"context"
	"os"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/cmd/backendurl"
	"github.com/distlock-go/distlock/internal/load"
)

func main() { os.Exit(load.Main(context.Background(), stores)) }

var stores = load.Stores{Usage: backendurl.Usage, Open: open, Name: backendurl.Name, Mistake: backendurl.ErrURL}

func open(ctx context.Context, rawURL string) (load.Store, error) {
	b, err := backendurl.Open(ctx, rawURL)
	if err != nil {
		return load.Store{}, err
	}
	same := rawURL
	if client, ok := b.Client.(*redis.Client); ok && backendurl.InProcess(rawURL) {
		same = "redis://" + client.Options().Addr
	}
	return load.Store{Backend: b.Backend, End: b.Close, Same: same}, nil
}
