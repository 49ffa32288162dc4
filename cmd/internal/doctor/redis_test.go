package doctor_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/cmd/internal/doctor"
	"github.com/distlock-go/distlock/internal/test/redistest"
)

// A server with an append-only file and a password has nothing to complain about, and
// has no key of the doctor afterwards.
func TestHealthyRedis(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always", "--requirepass", "secret")
	r := examine(t, "redis://:secret@"+s.Addr()+"/0", "shop:")
	wantFindings(t, r, "note replicas")
	wantMeasured(t, r, "round-trip", "wake-up", "clock")
	if keys := s.Client(t, func(o *redis.Options) { o.Password = "secret" }).DBSize(t.Context()).Val(); keys != 0 {
		t.Errorf("the doctor has left %d keys", keys)
	}
	if out := text(t, r); strings.Contains(out, "secret") {
		t.Errorf("the report shows the password:\n%s", out)
	}
	documented(t, "redis-healthy", r)
	wantRefused(t, "redis://"+s.Addr()+"/0", "NOAUTH")
	wantRefused(t, "redis://:not-it@"+s.Addr()+"/0", "WRONGPASS")
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
	documented(t, "redis-loses-locks", r)

	r = examine(t, "redis://"+replica.Addr()+"/0", "")
	wantFindings(t, r, "fault role", "fault writes", "warning persistence", "note authentication")
	documented(t, "redis-replica", r)
}

// A user without some of the rights is told each of them.
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
	wantFindings(t, r, "note replicas", "note acl-optional", "note idle-timeout", "note tcp-keepalive", "note persistence")
	wantSeen(t, r, "acl-optional", "wait", "scan", "zcount", "zrangebyscore")
	wantSeen(t, r, "persistence", "cannot see appendfsync", "NOPERM")

	redistest.SetUser(t, admin, rules("+wait", "+scan", "+zcount", "+zrangebyscore", "+config|get", "-zadd", "-evalsha", "-subscribe", "-getset"))
	r = examine(t, rawURL, "shop:")
	wantFindings(t, r, "note replicas", "fault acl-commands", "warning acl-optional")
	wantSeen(t, r, "acl-commands", ": evalsha zadd")
	wantSeen(t, r, "acl-optional", "getset (", "subscribe (")
	documented(t, "redis-acl", r)

	redistest.SetUser(t, admin, rules("+config|get", "+wait", "+scan", "+zcount", "+zrangebyscore", "resetkeys", "~shop:*", "resetchannels"))
	r = examine(t, rawURL, "shop:")
	wantFindings(t, r, "note replicas", "fault acl-keys", "fault acl-channels")
	wantSeen(t, r, "acl-keys", "{shop:*}:queue", "{shop:*}:gone", "distlock:clock*")
	wantSeen(t, r, "acl-channels", "publish and subscribe")

	// The names of companions begin with the hash tag of a prefix.
	tagged := func(more ...string) []string {
		return rules(append([]string{"+config|get", "+wait", "+scan", "+zcount", "+zrangebyscore", "resetkeys", "~{shop}:*", "~distlock:clock*"}, more...)...)
	}
	redistest.SetUser(t, admin, tagged())
	r = examine(t, rawURL, "{shop}:")
	wantFindings(t, r, "note replicas", "fault acl-keys")
	wantSeen(t, r, "acl-keys", "{shop}{{shop}:*}:queue", "{shop}{{shop}:*}:gone")
	redistest.SetUser(t, admin, tagged("~{shop}{{shop}:*}:queue", "~{shop}{{shop}:*}:gone"))
	wantFindings(t, examine(t, rawURL, "{shop}:"), "note replicas")

	// Without the prefix, the doctor does not know which keys the locks have.
	redistest.SetUser(t, admin, rules("+config|get", "+wait", "+scan", "+zcount", "+zrangebyscore"))
	wantFindings(t, examine(t, rawURL, ""), "note replicas", "warning acl-keys")

	// Whatever is missing, one round of advice is enough.
	for _, few := range []string{"+ping", "+ping +get", "+ping +set ~shop:*", "+ping +@read +@write +eval +evalsha", "+ping +publish"} {
		redistest.SetUser(t, admin, strings.Fields("resetkeys resetchannels -@all +config|get "+few))
		for _, f := range examine(t, rawURL, "shop:").Findings {
			if advice, ok := strings.CutPrefix(f.Do, "ACL SETUSER "); ok {
				args := []any{"acl", "setuser"}
				for _, rule := range strings.Fields(advice) {
					args = append(args, strings.Trim(rule, "'"))
				}
				if err := admin.Do(t.Context(), args...).Err(); err != nil {
					t.Fatalf("%s: %v", f.Do, err)
				}
			}
		}
		wantFindings(t, examine(t, rawURL, "shop:"), "note replicas")
	}

	// Each command by itself.
	for _, rule := range rules() {
		name, isCommand := strings.CutPrefix(rule, "+")
		if !isCommand || name == "hello" { // it is always allowed
			continue
		}
		redistest.SetUser(t, admin, rules("+config|get", "+wait", "+scan", "+zcount", "+zrangebyscore", "-"+name))
		r := examine(t, rawURL, "shop:")
		id := "acl-commands"
		if of(t, r, id).Severity == doctor.OK {
			id = "acl-optional"
		}
		if f := of(t, r, id); !strings.Contains(f.Seen, ": "+name) || !strings.HasSuffix(f.Do, " +"+name) {
			t.Errorf("without %s: %+v", name, f)
		}
	}
	if keys := admin.DBSize(t.Context()).Val(); keys != 0 {
		t.Errorf("the doctor has left %d keys", keys)
	}
}

// A Cluster in which a slot has no master.
func TestRedisCluster(t *testing.T) {
	t.Parallel()
	servers := redistest.StartCluster(t, 3)
	rawURL := "redis://" + servers[0].Addr() + "/0"
	want := []string{"warning cluster-url", "warning persistence", "note replicas", "note cluster-replicas", "note authentication"}
	wantFindings(t, examine(t, rawURL, ""), want...)
	if err := servers[0].Client(t).ClusterDelSlots(t.Context(), 7).Err(); err != nil {
		t.Fatal(err)
	}
	r := examine(t, rawURL, "")
	wantFindings(t, r, append(want, "fault cluster-slots")...)
	wantSeen(t, r, "cluster-slots", "16383 of 16384")
	documented(t, "redis-cluster", r)
}

// The server's clock is an hour ahead. Then it is set back, behind the last token.
func TestRedisClock(t *testing.T) {
	t.Parallel()
	c := redistest.NewClock(t)
	s := c.Start(t)
	rawURL := "redis://" + s.Addr() + "/0"
	c.Set(t, time.Hour)
	r := examine(t, rawURL, "")
	if f := of(t, r, "clock"); f.Severity != doctor.Warning || !strings.Contains(f.Seen, "ahead of this machine") {
		t.Errorf("got %+v", f)
	}
	now := time.Now().Add(time.Hour).UnixMicro()
	if err := s.Client(t).Set(t.Context(), "distlock:clock", now, 0).Err(); err != nil {
		t.Fatal(err)
	}
	c.Set(t, 0)
	wantFindings(t, examine(t, rawURL, ""), "warning persistence", "warning token-clock", "note replicas", "note authentication")
}

// A Sentinel has no locks, and a master with Sentinels moves.
func TestRedisSentinels(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "--min-replicas-to-write", "1", "--maxmemory", "100mb", "--maxmemory-policy", "volatile-ttl")
	c := s.Client(t)
	conn := c.Conn()
	defer conn.Close()
	if err := conn.ClientSetName(t.Context(), "sentinel-1a2b3c4d-cmd").Err(); err != nil {
		t.Fatal(err)
	}
	r := examine(t, "redis://"+s.Addr()+"/0", "")
	wantFindings(t, r, "note sentinel", "fault eviction", "fault replicas", "fault writes", "warning persistence", "note authentication")
	wantSeen(t, r, "writes", "NOREPLICAS")
}
