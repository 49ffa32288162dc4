package doctor_test

import (
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/cmd/internal/doctor"
	"github.com/distlock-go/distlock/internal/test/redistest"
)

// A server with an append-only file and a password has nothing to complain about.
func TestHealthyRedis(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always", "--requirepass", "secret")
	r := examine(t, "redis://:secret@"+s.Addr()+"/0", "shop:")
	wantFindings(t, r, "note replicas")
	wantSeen(t, r, "lock", "median")
	wantSeen(t, r, "wake-up", "median")
	c := s.Client(t, func(o *redis.Options) { o.Password = "secret" })
	if locks := c.Keys(t.Context(), "shop:*").Val(); len(locks) != 0 {
		t.Errorf("the doctor has left %q", locks)
	}
	if out := text(t, r); strings.Contains(out, "secret") {
		t.Errorf("the report shows the password:\n%s", out)
	}
}

// Without the password there is no report.
func TestRedisPassword(t *testing.T) {
	t.Parallel()
	m := miniredis.RunT(t)
	m.RequireAuth("secret")
	wantRefused(t, "redis://"+m.Addr()+"/0", "NOAUTH")
	wantRefused(t, "redis://:not-it@"+m.Addr()+"/0", "WRONGPASS")
}

// A server that evicts locks, forgets them at a restart, and has a replica that it does
// not wait for. And that replica.
func TestRedisThatLosesLocks(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")
	replica := redistest.StartReplica(t, s)
	if err := s.Client(t).Set(t.Context(), "k", "v", time.Millisecond).Err(); err != nil {
		t.Fatal(err)
	}
	s.Replicated(t) // only then the master says that the replica is online
	r := examine(t, "redis://"+s.Addr()+"/0", "")
	wantFindings(t, r, "fault eviction", "warning persistence", "warning replicas", "note authentication")
	wantSeen(t, r, "eviction", "allkeys-lru", "distlock:clock")

	r = examine(t, "redis://"+replica.Addr()+"/0", "")
	wantFindings(t, r, "fault role", "fault ping", "warning persistence", "note authentication")
	wantSeen(t, r, "ping", "READONLY")
}

// A user without a right is told which one.
func TestRedisACL(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	admin := s.Client(t)
	rawURL := "redis://locker:pw@" + s.Addr() + "/0"
	rules := func(more ...string) []string {
		return append(strings.Fields("resetkeys ~shop:* ~{shop:*}:queue ~{shop:*}:gone ~distlock:clock* resetchannels &distlock:inbox:* "+
			"-@all +eval +evalsha +get +mget +getset +exists +set +del +pexpire +pttl +zadd +zrem "+
			"+zrange +zscore +zcard +zremrangebyscore +publish +time +subscribe +ping +hello +client|setname +info +type"), more...)
	}

	// The documented rules are enough. What they do not allow cannot be seen.
	redistest.SetUser(t, admin, rules())
	r := examine(t, rawURL, "shop:")
	wantFindings(t, r, "note replicas", "note persistence")
	wantSeen(t, r, "persistence", "cannot see it: appendfsync", "NOPERM")

	for _, c := range []struct{ rule, prefix, id, severity, seen string }{
		{"-zadd", "shop:", "ping", "fault", "can't run this command"},
		{"-evalsha", "shop:", "ping", "fault", "evalsha"},
		{"-subscribe", "shop:", "messages", "warning", "subscribe"},
		{"resetchannels", "shop:", "messages", "warning", "NOPERM"},
		{"+ping", "", "lock", "fault", "NOPERM"}, // the doctor does not know the prefix
		{"resetkeys", "shop:", "ping", "fault", "NOPERM"},
	} {
		redistest.SetUser(t, admin, rules(c.rule, "+config|get"))
		r := examine(t, rawURL, c.prefix)
		if f := of(t, r, c.id); f.Severity.String() != c.severity || !strings.Contains(f.Seen, c.seen) {
			t.Errorf("with %s and the prefix %q: %+v", c.rule, c.prefix, f)
		}
	}
}

// A Cluster in which a slot has no master.
func TestRedisCluster(t *testing.T) {
	t.Parallel()
	servers := redistest.StartCluster(t, 3)
	rawURL := "redis://" + servers[0].Addr() + "/0"
	wantSeen(t, examine(t, rawURL, ""), "cluster", "16384 of 16384", "one of 3 masters")
	if err := servers[0].Client(t).ClusterDelSlots(t.Context(), 7).Err(); err != nil {
		t.Fatal(err)
	}
	if f := of(t, examine(t, rawURL, ""), "cluster"); f.Severity != doctor.Fault || !strings.Contains(f.Seen, "16383 of 16384") {
		t.Errorf("got %+v", f)
	}
}

// A master whose replicas are gone refuses what a lock does.
func TestRedisRefusesWrites(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "--min-replicas-to-write", "1")
	r := examine(t, "redis://"+s.Addr()+"/0", "")
	wantFindings(t, r, "fault replicas", "fault ping", "warning persistence", "note authentication")
	wantSeen(t, r, "ping", "NOREPLICAS")
}
