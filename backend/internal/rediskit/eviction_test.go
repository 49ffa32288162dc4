package rediskit_test

import (
	"testing"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
)

func TestEvicts(t *testing.T) {
	for info, want := range map[string]bool{
		"# Memory\r\nmaxmemory:0\r\nmaxmemory_policy:volatile-lru\r\n":          false,
		"# Memory\r\nmaxmemory:100\r\nmaxmemory_policy:noeviction\r\n":          false,
		"# Memory\r\nmaxmemory:100\r\nmaxmemory_policy:allkeys-random\r\n":      true,
		"# Memory\r\nmaxmemory_human:1M\r\nmaxmemory_policy:allkeys-random\r\n": false,
		"": false,
	} {
		if policy, got := rediskit.Evicts(info); got != want {
			t.Errorf("%q: %q evicts: %v", info, policy, got)
		}
	}
}
