package redislock_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
)

func openVirtual(t *testing.T, change func(*redis.Options)) driver.Backend {
	return newBackend(t, redistest.VirtualClient(t, redistest.Virtual(t), change), redislock.WithOpTimeout(redislock.DefaultOpTimeout))
}

// Fails if a function of the user runs on the goroutine of a caller, who cannot leave it.
func TestVirtualUserFunctionsStuck(t *testing.T) { redistest.Stuck(t, openVirtual) }

// Fails if connections that died without a word are found out one operation at a time.
func TestVirtualForgottenConnections(t *testing.T) { redistest.Forgotten(t, openVirtual) }
