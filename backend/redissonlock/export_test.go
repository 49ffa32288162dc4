package redissonlock

import "github.com/redis/go-redis/v9"

// Backend is the type that New returns.
type Backend = backend

// Open is New for tests that use more than a [driver.Backend].
func Open(client redis.UniversalClient, cfg Config) *Backend { return New(client, cfg).(*backend) }
