package interop_test

import (
	"slices"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/javakey"
)

// strings that expire: the record of redislock, and of most libraries.
var stringPairs = []pair{
	{theirs: "the aspect", java: "aspect.method", ours: "redislock.lock", goKey: aspectKey, goWakes: polling, javaWakes: polling},
	{theirs: "Jedis, `SET NX PX`", java: "jedis.lock", ours: "redislock.lock", goWakes: polling, javaWakes: polling},
	{theirs: "Spring Integration, `SPIN_LOCK`", java: "integration.spin", ours: "redislock.lock", goKey: prefix("reg:"), goWakes: polling, javaWakes: polling},
	{theirs: "Spring Integration, `PUB_SUB_LOCK`", java: "integration.pubsub", ours: "redislock.lock", goKey: prefix("reg:"), goWakes: polling, javaWakes: asleep},
	{theirs: "Spring Integration, `PUB_SUB_LOCK`", java: "integration.pubsub", ours: "redislock.free", goKey: prefix("reg:"), goWakes: polling, javaWakes: asleep},
	{theirs: "ShedLock", java: "shedlock.plain", ours: "redislock.lock", goKey: prefix("job-lock:prod:"), goWakes: polling},
	{theirs: "ShedLock, `safeUpdate`", java: "shedlock.safe", ours: "redislock.lock", goKey: prefix("job-lock:prod:"), goWakes: polling},
	{theirs: "lock4j, `@Lock4j` with the RedisTemplate executor", java: "lock4j.method", ours: "redislock.lock", goKey: lock4jKey, goWakes: polling, javaWakes: polling},
	{theirs: "lock4j, RedisTemplate executor", java: "lock4j.template", ours: "redislock.lock", goWakes: polling, javaWakes: polling},
}

const redissonThrows = "!org.redisson.client.RedisException: WRONGTYPE"

// setPairs: readers and holders of permits of ours are a sorted set.
var setPairs = []pair{
	{theirs: "the aspect", java: "aspect.method", ours: "redislock.shared", goKey: aspectKey, goWakes: polling, javaSees: "!org.springframework.data.redis.RedisSystemException"},
	{theirs: "Jedis, `SET NX PX`", java: "jedis.lock", ours: "redislock.shared", goWakes: polling, javaWakes: polling},
}

// hashes are the record of Redisson, and not of redislock.
var hashPairs = []pair{
	{theirs: "lock4j, Redisson executor", java: "lock4j.redisson", ours: "redislock.lock", goSees: foreign, goWakes: polling, javaSees: redissonThrows},
	{theirs: "`RLock`", java: "redisson.lock", ours: "redislock.lock", goSees: foreign, goWakes: polling, javaSees: redissonThrows},
	{theirs: "`RSemaphore`", java: "redisson.semaphore", ours: "redislock.lock", javaSees: "!org.redisson.client.RedisException: ERR"},
	{theirs: "`RReadWriteLock`, write", java: "redisson.write", ours: "redislock.lock", goSees: foreign, goWakes: polling, javaSees: redissonThrows},
}

// prefix returns the function that sets a prefix before a name.
func prefix(p string) func(string) string {
	return func(name string) string { return p + name }
}

// aspectKey returns the key that the aspect makes of a parameter.
func aspectKey(parameter string) string {
	key, err := javakey.Aspect("my-test", parameter)
	if err != nil {
		panic(err)
	}
	return key
}

// lock4jKey returns the key that lock4j makes of a parameter.
func lock4jKey(parameter string) string {
	key, err := javakey.Lock4j("orders", parameter)
	if err != nil {
		panic(err)
	}
	return key
}

// TestRedislock: redislock beside Java's libraries.
func TestRedislock(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	s := servers{redis: redistest.Start(t).Addr(), lease: 12 * time.Second}
	javaSide, goSide := startJava(t, s), startGo(t, s)
	section(t, "redislock", meetAll(t, slices.Concat(stringPairs, setPairs, hashPairs), javaSide, goSide))
}
