package redislock_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/locktest"
)

// open returns a function that makes Backends with the Config.
func open(cfg redislock.Config) func(redis.UniversalClient) driver.Backend {
	return func(c redis.UniversalClient) driver.Backend { return redislock.New(c, cfg) }
}

// resend is less than the time of a release that is sent twice: that happens if a
// responsive server has not replied within fifty milliseconds, less a quarter.
const resend = 30 * time.Millisecond

// The suite, over a network that loses and delays requests and replies.
//
// Row 7 (redislock): a holder that reaches no server, or hears from none, is told before another
// owner has the key. Fails if a lease is trusted for a second longer than it lasts.
// Row 8 (redislock): the same owner gets the same grant again, a renewal and a release
// that are repeated find no loss, and a late copy takes nothing from the next holder.
// Fails if a repeated request of an owner is refused. TestModel notices a server that
// forgets a release.
// Row 14 (redislock): 200 waiters leave at once, and callers come whose context has ended: nothing
// is left. Fails if the place of a waiter stays that was released.
// Row 15 (redislock): a waiter whose connection ends with a message asks at once when it listens
// again. Fails if a new subscription does not wake waiters.
// Row 24 (redislock): what was given back before Close is free for another process,
// and MinHold goes on. Fails if MinHold ends with the process.
func TestConformanceVirtual(t *testing.T) {
	redistest.Conform(t, locktest.Features{Bubble: true}, open(redislock.Config{}), open(redislock.Config{}), func(t *testing.T) func() redis.UniversalClient {
		m := redistest.Virtual(t)
		return func() redis.UniversalClient { return redistest.VirtualClient(t, m) }
	})
}

func TestConformanceRedis(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	s := realServer(t)
	redistest.Conform(t, locktest.Features{Resend: resend}, open(unhurried), open(redislock.Config{}), func(t *testing.T) func() redis.UniversalClient {
		return func() redis.UniversalClient { return s.real.Client(t) }
	})
}

func TestConformanceCluster(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	servers := redistest.StartCluster(t, 3)
	redistest.Conform(t, locktest.Features{Resend: resend}, open(unhurried), open(redislock.Config{}), func(t *testing.T) func() redis.UniversalClient {
		return func() redis.UniversalClient { return redistest.ClusterClient(t, servers) }
	})
}

// The conformance suite passes over TLS with the documented permissions, the server
// never refuses anything, and no password is logged.
func TestConformanceACL(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	s := redistest.StartTLS(t, time.Now().Add(time.Hour))
	noError(t, s.Client(t).Do(t.Context(), "acl", "setuser", "default", "resetpass", ">admin's").Err())
	admin := s.Client(t, func(o *redis.Options) { o.Username, o.Password = "default", "admin's" })
	// The documented rules for the keys of the suite, with those for hash tags and
	// inspection.
	rules := documentedRules(t)
	for i, r := range rules {
		rules[i] = strings.ReplaceAll(r, "shop:", "locktest:")
	}
	redistest.SetUser(t, admin, append(append(rules, "~{*}{locktest:*}:queue", "~{*}{locktest:*}:gone"), inspection...))
	var said child.Output
	openAll, opened := open(redislock.Config{OpTimeout: unhurried.OpTimeout, Logger: slog.New(slog.NewTextHandler(&said, nil))}), 0
	redistest.Conform(t, locktest.Features{
		Resend: resend,
		Drop:   func(t *testing.T, _ driver.Backend, key string) { t.Helper(); redistest.Drop(t, admin, key) },
	}, func(c redis.UniversalClient) driver.Backend { opened++; return openAll(c) }, nil, func(t *testing.T) func() redis.UniversalClient {
		t.Helper()
		return func() redis.UniversalClient { return s.Client(t, redistest.AsUser) }
	})
	if opened < 50 || strings.Contains(said.String(), "pw") {
		t.Errorf("%d backends were made, which logged %q", opened, said.String())
	}
	refusals, err := admin.ACLLog(t.Context(), 100).Result()
	noError(t, err)
	for _, r := range refusals {
		if r.Username == "default" {
			continue
		}
		if object := r.Object; object != "client|setinfo" && object != "client" { // go-redis reports its version, if it may
			t.Errorf("refused: %s %s %q, %d times", r.Username, r.Reason, object, r.Count)
		}
	}
	t.Logf("%d backends, refusals: %+v", opened, refusals)

	// Other keys and channels are out of reach, so that the suite proves something.
	c := s.Client(t, redistest.AsUser)
	for _, cmd := range [][]any{{"get", "shop:pay"}, {"set", "locktest", "x"}, {"publish", "other", "x"}, {"keys", "*"}, {"flushall"}, {"config", "get", "*"}} {
		if err := c.Do(t.Context(), cmd...).Err(); err == nil || !strings.Contains(err.Error(), "NOPERM") {
			t.Errorf("%v: %v", cmd, err)
		}
	}
}
