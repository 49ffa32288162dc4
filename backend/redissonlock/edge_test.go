package redissonlock_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redissonlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
)

func openVirtual(t *testing.T, change func(*redis.Options)) driver.Backend {
	b := redissonlock.Open(redistest.VirtualClient(t, redistest.Virtual(t), change), redissonlock.Config{})
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// Fails if a caller waits for a function of the user.
func TestUserFunctionsStuck(t *testing.T) { redistest.Stuck(t, openVirtual) }

// Fails if connections that died without a word are found out one operation at a time.
func TestForgottenConnections(t *testing.T) { redistest.Forgotten(t, openVirtual) }

// Fails if only one of the packages for Redis warns of eviction.
func TestAsksForEviction(t *testing.T) { redistest.Asked(t, openVirtual) }
