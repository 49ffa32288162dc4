package redlock_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
)

func openVirtual(t *testing.T, change func(*redis.Options)) driver.Backend {
	f := virtualFleet(t, 3)
	clients := make([]redis.UniversalClient, len(f.admins))
	for i := range clients {
		clients[i] = f.client(i, change)
	}
	return newBackend(t, clients, redlock.Config{NodeTimeout: time.Second, MaxLease: 10 * time.Minute})
}

// Fails if a caller waits for a function of the user.
func TestUserFunctionsStuck(t *testing.T) { redistest.Stuck(t, openVirtual) }

// Fails if connections that died without a word are found out one operation at a time.
func TestForgottenConnections(t *testing.T) { redistest.Forgotten(t, openVirtual) }

// Fails if only one of the packages for Redis warns of eviction.
func TestAsksForEviction(t *testing.T) { redistest.Asked(t, openVirtual) }
