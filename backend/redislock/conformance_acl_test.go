package redislock_test

import (
	"context"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/locktest"
)

// The conformance suite passes with the documented permissions, and the server never
// refuses anything.
func TestConformanceACL(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	s := redistest.Start(t)
	if err := s.Client(t).Do(t.Context(), "acl", "setuser", "default", "resetpass", ">admin's").Err(); err != nil {
		t.Fatal(err)
	}
	admin := s.Client(t, func(o *redis.Options) { o.Username, o.Password = "default", "admin's" })
	// The documented rules for the keys of the suite, with those for hash tags and inspection.
	rules := documentedRules(t)
	for i, r := range rules {
		rules[i] = strings.ReplaceAll(r, "shop:", "locktest:")
	}
	redistest.SetUser(t, admin, append(append(rules, "~{*}{locktest:*}:queue", "~{*}{locktest:*}:gone"), inspection...))
	asUser := make(map[driver.Backend]bool)
	add := func(t *testing.T) driver.Backend {
		t.Helper()
		b := redislock.New(s.Client(t, redistest.AsUser), unhurried)
		asUser[b] = true
		return b
	}
	locktest.Run(t, add, locktest.Features{
		Resend: resend,
		Drop: func(t *testing.T, _ driver.Backend, key string) {
			t.Helper()
			if n, err := admin.Del(context.Background(), key).Result(); err != nil || n != 1 {
				t.Fatalf("DEL: %d, %v", n, err)
			}
		},
		Peer: func(t *testing.T, _ driver.Backend) driver.Backend { t.Helper(); return add(t) },
	})
	if len(asUser) < 50 {
		t.Errorf("only %d backends were made", len(asUser))
	}
	refusals, err := admin.ACLLog(t.Context(), 100).Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range refusals {
		if r.Username == "default" {
			continue
		}
		if object := r.Object; object != "client|setinfo" && object != "client" { // go-redis reports its version, if it may
			t.Errorf("refused: %s %s %q, %d times", r.Username, r.Reason, object, r.Count)
		}
	}
	t.Logf("%d backends, refusals: %+v", len(asUser), refusals)

	// Other keys and channels are out of reach, so that the suite proves something.
	c := s.Client(t, redistest.AsUser)
	for _, cmd := range [][]any{{"get", "shop:pay"}, {"set", "locktest", "x"}, {"publish", "other", "x"}, {"keys", "*"}, {"flushall"}, {"config", "get", "*"}} {
		if err := c.Do(t.Context(), cmd...).Err(); err == nil || !strings.Contains(err.Error(), "NOPERM") {
			t.Errorf("%v: %v", cmd, err)
		}
	}
}
