package doctor

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/cmd/backendurl"
	"github.com/distlock-go/distlock/internal/text"
)

// redisServer reads the values of a Redis server.
type redisServer struct {
	client  *redis.Client
	info    map[string]string // of INFO
	infoErr error
}

var redisChecks = []check[*redisServer]{
	{"version", server, "The locks need commands that older servers do not have, and the tests run on these servers only.", redisVersion},
	{"role", server, "Only the primary grants, renews and releases locks (P1).", redisRole},
	{"cluster", server,
		"If a slot has no master, its locks are neither granted nor renewed, and a client of one server cannot use the keys of the others (P5).", redisCluster},
	{"messages", server, "A release wakes a waiter by a message. Without messages, waiters poll (P5).", redisMessages},
	{"eviction", durability, "A lock is a key that expires. If it is evicted, another gets the lock while the holder works (P1, P2).", redisEviction},
	{"persistence", durability,
		"A server that restarts without its data has forgotten all locks: two holders are possible until the first one renews (P1).", redisPersistence},
	{"replicas", durability, replicasWhy, redisReplicas},
}

func examineRedis(ctx context.Context, client *redis.Client) ([]Finding, error) {
	first, cancel := context.WithTimeout(ctx, backendurl.ReachTimeout)
	defer cancel()
	var answer redis.Error
	err := client.Ping(first).Err()
	if err != nil && (!errors.As(err, &answer) || redis.HasErrorPrefix(err, "NOAUTH") || redis.HasErrorPrefix(err, "WRONGPASS")) {
		return nil, err
	}
	text, err := client.Info(ctx).Result()
	return run(ctx, &redisServer{client, parseFields(text), err}, redisChecks), nil
}

// parseFields returns the fields in the text of INFO: name:value on each line.
func parseFields(text string) map[string]string {
	fields := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, isField := strings.Cut(strings.TrimSpace(line), ":"); isField && !strings.HasPrefix(line, "#") {
			fields[name] = strings.TrimSpace(value)
		}
	}
	return fields
}

// value returns a field of INFO, or else a setting.
func (s *redisServer) value(ctx context.Context, name string) (string, error) {
	if value, has := s.info[name]; has || s.infoErr != nil {
		return value, s.infoErr
	}
	values, err := s.client.ConfigGet(ctx, name).Result()
	return values[name], err
}

// number is value for a number, which is 0 if the server does not have it.
func (s *redisServer) number(ctx context.Context, name string) (int64, error) {
	value, err := s.value(ctx, name)
	n, _ := strconv.ParseInt(value, 10, 64)
	return n, err
}

// redisVersion judges the product, too.
func redisVersion(_ context.Context, s *redisServer) (verdict, error) {
	name, version := "Redis", s.info["redis_version"]
	switch {
	case s.info["dragonfly_version"] != "":
		name, version = "Dragonfly", s.info["dragonfly_version"]
	case s.info["valkey_version"] != "":
		name, version = "Valkey", s.info["valkey_version"]
	case strings.Contains(s.info["executable"], "keydb"):
		name = "KeyDB"
	}
	seen := name + " " + version
	switch {
	case version == "":
		return verdict{}, errors.Join(s.infoErr, errors.New("INFO has no version"))
	case name == "Redis" && before(version, 5, 0):
		return fault(seen, "use Redis 5 or later, or Valkey"), nil
	case name != "Redis" && name != "Valkey":
		return warning(seen+": the locks are not tested on it", "run the suite on it: DISTLOCK_TEST_REDIS=path go test ./backend/redislock"), nil
	default:
		return ok("%s", seen), nil
	}
}

func redisRole(_ context.Context, s *redisServer) (verdict, error) {
	switch role := s.info["role"]; {
	case s.info["redis_mode"] == "sentinel":
		return fault("a Sentinel, which keeps no locks", "name the master in the URL; in programs use redis.NewFailoverClient with the Sentinels"), nil
	case role == "slave":
		return fault("a replica of "+s.info["master_host"]+":"+s.info["master_port"]+": it refuses every write", "name the master in the URL"), nil
	case role == "":
		return verdict{}, errors.Join(s.infoErr, errors.New("INFO has no role"))
	default:
		return ok("%s", role), nil
	}
}

// redisCluster judges the Cluster that the server belongs to.
func redisCluster(ctx context.Context, s *redisServer) (verdict, error) {
	if s.info["cluster_enabled"] != "1" {
		return verdict{}, nil
	}
	text, err := s.client.ClusterInfo(ctx).Result()
	if err != nil {
		return verdict{}, err
	}
	return judgeCluster(parseFields(text)), nil
}

func judgeCluster(info map[string]string) verdict {
	const slots = 16384
	assigned, _ := strconv.Atoi(info["cluster_slots_assigned"])
	failed, _ := strconv.Atoi(info["cluster_slots_fail"])
	masters, _ := strconv.Atoi(info["cluster_size"])
	seen := fmt.Sprintf("state %s, %d of %d slots have a master", info["cluster_state"], assigned-failed, slots)
	switch {
	case info["cluster_state"] != "ok" || assigned-failed < slots:
		return fault(seen, "redis-cli --cluster fix HOST:PORT")
	case masters > 1:
		return warning(fmt.Sprintf("%s; the URL names one of %d masters", seen, masters),
			"in programs redis.NewClusterClient; this report is about one server: run it for each")
	default:
		return ok("%s", seen)
	}
}

// redisMessages subscribes as a waiter does.
func redisMessages(ctx context.Context, s *redisServer) (verdict, error) {
	sub := s.client.Subscribe(ctx, "distlock:inbox:doctor")
	defer sub.Close() //nolint:errcheck // nothing depends on it
	if _, err := sub.Receive(ctx); err != nil {
		return warning(text.OneLine(err), "give the user +subscribe and &distlock:inbox:*"), ctx.Err()
	}
	return ok("a waiter can subscribe"), nil
}

func redisEviction(ctx context.Context, s *redisServer) (verdict, error) {
	policy, err := s.value(ctx, "maxmemory_policy")
	if err != nil || policy == "" {
		return verdict{}, errors.Join(err, errors.New("INFO has no maxmemory_policy"))
	}
	limit, err := s.number(ctx, "maxmemory")
	return judgeEviction(policy, limit), err
}

func judgeEviction(policy string, limit int64) verdict {
	const do = "CONFIG SET maxmemory-policy noeviction, and the same in redis.conf"
	seen := fmt.Sprintf("%s, maxmemory %d MB", policy, limit>>20)
	switch {
	case policy == "noeviction":
		return ok("%s", policy)
	case limit == 0:
		return warning(policy+" without a maxmemory: it begins to evict locks as soon as somebody sets one", do)
	case strings.HasPrefix(policy, "volatile-"):
		return fault(seen+": it evicts keys that expire, and every lock expires", do)
	default:
		return fault(seen+": it evicts locks, and distlock:clock, which has the last token (P3)", do)
	}
}

// redisPersistence judges what a restart loses.
func redisPersistence(ctx context.Context, s *redisServer) (verdict, error) {
	const do = "CONFIG SET appendonly yes, CONFIG SET appendfsync always, and the same in redis.conf"
	aof, err := s.value(ctx, "aof_enabled")
	if err != nil {
		return verdict{}, err
	}
	if aof != "1" {
		return warning("no append-only file: a restart loses all locks since the last snapshot", do), nil
	}
	switch fsync, err := s.value(ctx, "appendfsync"); {
	case err != nil:
		return verdict{}, fmt.Errorf("appendfsync: %w", err)
	case fsync == "always":
		return ok("an append-only file, appendfsync always"), nil
	case fsync == "everysec":
		return note("appendfsync everysec: a crash of the machine loses up to two seconds of locks", "CONFIG SET appendfsync always, if that is too much"), nil
	default:
		return warning("appendfsync "+fsync+": a crash of the machine loses half a minute of locks", do), nil
	}
}

// redisReplicas judges the replicas that there are, and min-replicas-to-write.
func redisReplicas(ctx context.Context, s *redisServer) (verdict, error) {
	if s.info["role"] != "master" {
		return verdict{}, s.infoErr
	}
	n, err := s.number(ctx, "connected_slaves")
	if err != nil {
		return verdict{}, err
	}
	least, err := s.number(ctx, "min-replicas-to-write")
	if n == 0 && least == 0 {
		err = nil // a server without replicas has nothing to wait for
	}
	return judgeReplicas(int(n), int(least)), err
}

func judgeReplicas(n, least int) verdict {
	seen := fmt.Sprintf("%s, min-replicas-to-write %d", count(n, "replica"), least)
	switch {
	case n < least:
		return fault(seen+": all writes are refused", "start the replicas, or CONFIG SET min-replicas-to-write 0")
	case n == 0:
		return note("none: no failover can lose a lock, and there are no locks while this server is down", "choose redlock or zklock, if locks must be available then")
	case least == 0:
		return warning(seen+": a master that is cut off from its replicas grants locks that a failover loses",
			"CONFIG SET min-replicas-to-write 1, CONFIG SET min-replicas-max-lag 10; redislock.Config{WaitReplicas: 1}")
	default:
		return note(seen+": a failover loses the locks that the replica has not received", "redislock.Config{WaitReplicas: 1}, if a lost lock is expensive")
	}
}
