package redissonlock_test

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/internal/test/redistest"
)

// Ping fails where a release would, and says what helps.
func TestPingWrites(t *testing.T) {
	s := redistest.Start(t)
	admin := s.Client(t)
	redistest.SetUser(t, admin, redistest.DocumentedRules(t, 20))
	b := newBackend(t, s.Client(t, redistest.AsUser))
	noError(t, b.Ping(t.Context()))
	if keys := admin.Keys(t.Context(), "*").Val(); len(keys) != 0 {
		t.Errorf("it left %q", keys)
	}
	fails := func(what, code, advice string) {
		t.Helper()
		err := b.Ping(t.Context())
		if !redis.HasErrorPrefix(err, code) || !strings.Contains(err.Error(), advice) {
			t.Errorf("%s: %v", what, err)
		}
	}
	redistest.SetUser(t, admin, append(redistest.DocumentedRules(t, 20), "-evalsha"))
	fails("without evalsha", "NOPERM", "ACL rules")
	redistest.SetUser(t, admin, redistest.DocumentedRules(t, 20))
	noError(t, admin.ConfigSet(t.Context(), "min-replicas-to-write", "1").Err())
	fails("without its replicas", "NOREPLICAS", "")
	noError(t, admin.ConfigSet(t.Context(), "min-replicas-to-write", "0").Err())
	noError(t, admin.Do(t.Context(), "REPLICAOF", "127.0.0.1", "1").Err())
	fails("a replica that hides it", "READONLY", "need the master")
}
