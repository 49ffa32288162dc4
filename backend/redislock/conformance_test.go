package redislock_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/locktest"
)

// conform runs the suite with one server for each case. A peer is another Backend with
// its own client, as in another process.
func conform(t *testing.T, f locktest.Features, start func(t *testing.T) func() redis.UniversalClient, opts ...redislock.Option) {
	type store struct {
		admin  redis.UniversalClient
		client func() redis.UniversalClient
	}
	stores := make(map[driver.Backend]store)
	add := func(s store) driver.Backend {
		b := redislock.New(s.client(), opts...)
		stores[b] = s
		return b
	}
	f.Drop = func(t *testing.T, b driver.Backend, key string) {
		t.Helper()
		if n, err := stores[b].admin.Del(context.Background(), key).Result(); err != nil || n != 1 {
			t.Fatalf("DEL: %d, %v", n, err)
		}
	}
	f.Peer = func(_ *testing.T, first driver.Backend) driver.Backend { return add(stores[first]) }
	locktest.Run(t, func(t *testing.T) driver.Backend {
		client := start(t)
		return add(store{client(), client})
	}, f)
}

// resend is less than the time of a release that is sent twice: that happens if a
// responsive server has not replied within fifty milliseconds, less a quarter.
const resend = 30 * time.Millisecond

func TestConformanceVirtual(t *testing.T) {
	conform(t, locktest.Features{Bubble: true}, func(t *testing.T) func() redis.UniversalClient {
		m := redistest.Virtual(t)
		return func() redis.UniversalClient { return redistest.VirtualClient(t, m) }
	})
}

func TestConformanceRedis(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	s := realServer(t)
	conform(t, locktest.Features{Resend: resend}, func(t *testing.T) func() redis.UniversalClient {
		return func() redis.UniversalClient { return s.real.Client(t) }
	}, unhurried)
}

func TestConformanceCluster(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	servers := redistest.StartCluster(t, 3)
	conform(t, locktest.Features{Resend: resend}, func(t *testing.T) func() redis.UniversalClient {
		return func() redis.UniversalClient { return redistest.ClusterClient(t, servers) }
	}, unhurried)
}

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
