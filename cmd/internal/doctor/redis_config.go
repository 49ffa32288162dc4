package doctor

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// redisFlavour returns the product and its version.
func redisFlavour(info map[string]string) (flavour, version string) {
	switch {
	case info["dragonfly_version"] != "":
		return "Dragonfly", strings.TrimPrefix(info["dragonfly_version"], "df-v")
	case info["valkey_version"] != "":
		return "Valkey", info["valkey_version"]
	case strings.Contains(info["executable"], "keydb"), info["mvcc_depth"] != "":
		return "KeyDB", info["redis_version"]
	default:
		return "Redis", info["redis_version"]
	}
}

func redisVersion(flavour, version string) Finding {
	seen := flavour + " " + version
	switch {
	case flavour == "Redis" && major(version) == 0:
		return unseen("version", "the version in INFO", nil)
	case flavour == "Redis" && major(version) < 5:
		return fault("version", seen, "use Redis 5 or later, or Valkey")
	case flavour != "Redis" && flavour != "Valkey":
		return warning("version", seen+": the locks are not tested on it", "run the suite on it: DISTLOCK_TEST_REDIS=path go test ./backend/redislock")
	default:
		return ok("version", "%s", seen)
	}
}

// major returns the first number of a version; 0 if it has none.
func major(version string) int {
	first, _, _ := strings.Cut(version, ".")
	n, _ := strconv.Atoi(first)
	return n
}

func redisRole(mode, role, master string) Finding {
	switch {
	case mode == "sentinel":
		return fault("role", "a Sentinel, which keeps no locks", "name the master in the URL; in programs use redis.NewFailoverClient with the Sentinels")
	case role == "slave":
		return fault("role", "a replica of "+master+": it refuses every write", "name the master in the URL")
	case role == "":
		return unseen("role", "the role in INFO", nil)
	default:
		return ok("role", "%s", role)
	}
}

func memory(used, limit int64) Finding {
	const do = "CONFIG SET maxmemory to more, or find out what fills the server: redis-cli --bigkeys"
	switch {
	case limit == 0:
		return ok("memory", "%s used, no limit", bytes(used))
	case used >= limit:
		return fault("memory", fmt.Sprintf("%s of %s used", bytes(used), bytes(limit)), do)
	case used >= limit/10*9:
		return warning("memory", fmt.Sprintf("%s of %s used", bytes(used), bytes(limit)), do)
	default:
		return ok("memory", "%s of %s used", bytes(used), bytes(limit))
	}
}

// bytes returns a number of bytes for people.
func bytes(n int64) string {
	switch {
	case n >= 10<<30:
		return fmt.Sprintf("%d GB", n>>30)
	case n >= 10<<20:
		return fmt.Sprintf("%d MB", n>>20)
	default:
		return fmt.Sprintf("%d KB", n>>10)
	}
}

// connections decides on the number of connections that a server has.
func connections(used, most int, do string) Finding {
	seen := fmt.Sprintf("%d of %d used", used, most)
	switch {
	case used >= most:
		return fault("connections", seen, do)
	case used >= most*9/10:
		return warning("connections", seen, do)
	default:
		return ok("connections", "%s", seen)
	}
}

func redisIdle(d time.Duration) Finding {
	if d == 0 {
		return ok("idle-timeout", "none")
	}
	return note("idle-timeout", fmt.Sprintf("the server closes connections that were idle for %v", d), "CONFIG SET timeout 0")
}

func keepalive(d time.Duration) Finding {
	if d == 0 {
		return note("tcp-keepalive", "off", "CONFIG SET tcp-keepalive 300")
	}
	return ok("tcp-keepalive", "%v", d)
}

func eviction(policy string, limit int64) Finding {
	const do = "CONFIG SET maxmemory-policy noeviction, and the same in redis.conf"
	seen := fmt.Sprintf("%s, maxmemory %s", policy, bytes(limit))
	switch {
	case policy == "noeviction":
		return ok("eviction", "%s", policy)
	case limit == 0:
		return warning("eviction", policy+" without a maxmemory: it begins to evict locks as soon as somebody sets one", do)
	case strings.HasPrefix(policy, "volatile-"):
		return fault("eviction", seen+": it evicts keys that expire, and every lock expires", do)
	default:
		return fault("eviction", seen+": it evicts locks, and distlock:clock, which has the last token (P3)", do)
	}
}

// persistence decides on what a restart loses. appendfsync is known if there is an
// append-only file.
func persistence(aof bool, appendfsync, save string) Finding {
	const do = "CONFIG SET appendonly yes, CONFIG SET appendfsync always, and the same in redis.conf"
	switch {
	case !aof && save == "":
		return warning("persistence", "no append-only file: a restart loses all locks", do)
	case !aof:
		return warning("persistence", "no append-only file, and snapshots (save "+save+"): a restart loses all locks since the last one", do)
	case appendfsync == "always":
		return ok("persistence", "an append-only file, appendfsync always")
	case appendfsync == "everysec":
		return note("persistence", "appendfsync everysec: a crash of the machine loses up to two seconds of locks", "CONFIG SET appendfsync always, if that is too much")
	default:
		return warning("persistence", "appendfsync "+appendfsync+": a crash of the machine loses half a minute of locks", do)
	}
}

func diskWrites(aof, snapshot string) Finding {
	const do = "look at the server's log and at the free space of its disk"
	switch {
	case aof == "err":
		return fault("disk-writes", "the last write of the append-only file failed: all writes are refused", do)
	case snapshot == "err":
		return warning("disk-writes", "the last snapshot failed: all writes are refused if stop-writes-on-bgsave-error is on, as it is by default", do)
	default:
		return ok("disk-writes", "without errors")
	}
}

// replica is a replica of a Redis server.
type replica struct {
	addr   string
	online bool
	lag    time.Duration // since its last report
	offset int64         // of what it has received
}

// parseReplicas returns the replicas in INFO: slave0:ip=…,port=…,state=online,offset=…,lag=0.
func parseReplicas(info map[string]string, n int) []replica {
	var all []replica
	for i := range n {
		fields := make(map[string]string)
		for field := range strings.SplitSeq(info[fmt.Sprint("slave", i)], ",") {
			name, value, _ := strings.Cut(field, "=")
			fields[name] = value
		}
		lag, _ := strconv.Atoi(fields["lag"])
		offset, _ := strconv.ParseInt(fields["offset"], 10, 64)
		all = append(all, replica{fields["ip"] + ":" + fields["port"], fields["state"] == "online", time.Duration(lag) * time.Second, offset})
	}
	return all
}

// redisReplicas decides on the replicas that there are, and on min-replicas-to-write.
func redisReplicas(replicas []replica, least int) Finding {
	n := len(replicas)
	seen := fmt.Sprintf("%s, min-replicas-to-write %d", count(n, "replica"), least)
	switch {
	case n < least:
		return fault("replicas", seen+": all writes are refused", "start the replicas, or CONFIG SET min-replicas-to-write 0")
	case n == 0:
		return note("replicas", "none: no failover can lose a lock, and there are no locks while this server is down", "choose redlock or zklock, if locks must be available then")
	case least == 0:
		return warning("replicas", seen+": a master that is cut off from its replicas grants locks that a failover loses",
			"CONFIG SET min-replicas-to-write 1, CONFIG SET min-replicas-max-lag 10; redislock.WithWaitReplicas(1, time.Second)")
	default:
		return note("replicas", seen+": a failover loses the locks that the replica has not received", "redislock.WithWaitReplicas(1, time.Second), if a lost lock is expensive")
	}
}

// redisLag decides on how far the replicas are behind a master with this offset.
func redisLag(replicas []replica, offset int64) Finding {
	const do = "look at the replica's log, at the network, and at client-output-buffer-limit replica"
	var worst string
	for _, r := range replicas {
		switch {
		case !r.online:
			worst = r.addr + " is not online"
		case r.lag > 10*time.Second:
			worst = fmt.Sprintf("%s was last heard %v ago", r.addr, r.lag)
		case offset-r.offset > 1<<20:
			worst = fmt.Sprintf("%s is %s behind", r.addr, bytes(offset-r.offset))
		}
	}
	if worst != "" {
		return warning("replication-lag", worst, do)
	}
	return ok("replication-lag", "%s, all up to date", count(len(replicas), "replica"))
}

func sentinel(n int) Finding {
	return note("sentinel", count(n, "Sentinel")+" may move the master to another address",
		"in programs redis.NewFailoverClient with the addresses of the Sentinels; in a URL a name that follows the master")
}

// tokenClock compares the last token with the server's clock.
func tokenClock(value string, now time.Time) Finding {
	token, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return fault("token-clock", fmt.Sprintf("distlock:clock is %q, which is not a token: no lock is granted", value), "find out what writes the key, and then DEL distlock:clock")
	}
	ahead := time.UnixMicro(token).Sub(now)
	if ahead > time.Second {
		return warning("token-clock", fmt.Sprintf("the last token is %v ahead of the server's clock, which was set back", short(ahead)), "keep distlock:clock, and do not set the clock back")
	}
	return ok("token-clock", "the last token is not ahead of the server's clock")
}
