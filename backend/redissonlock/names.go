package redissonlock

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/driver"
)

// companion returns the name of something that belongs to a lock, by Redisson's rule.
// It is in the same hash slot as the lock.
func companion(prefix, key string) string {
	if strings.ContainsRune(key, '{') {
		return prefix + ":" + key
	}
	return prefix + ":{" + key + "}"
}

// lockKeys are the keys of a lock.
type lockKeys struct {
	lock, counter, gone string
}

func keysOf(key string) lockKeys {
	return lockKeys{lock: key, counter: companion("redisson_lock_token", key), gone: companion("distlock_gone", key)}
}

// channels returns the channels of a lock: of RLock, and of RReadWriteLock.
func channels(key string) (lock, readWrite string) {
	return companion("redisson_lock__channel", key), companion("redisson_rwlock", key)
}

// checkRequest refuses what the record cannot hold.
func checkRequest(g driver.Grant) error {
	if g.Mode != driver.Exclusive || g.Permits != 0 {
		return fmt.Errorf("redissonlock: %v with %d permits: all locks are exclusive", g.Mode, g.Permits)
	}
	return cmp.Or(rediskit.CheckNames("redissonlock", g.Key, g.Owner), checkKey(g.Key))
}

// checkKey refuses what cannot be the key of a lock, and the companion of another lock.
func checkKey(key string) error {
	if err := rediskit.CheckKey(key); err != nil {
		return fmt.Errorf("redissonlock: %w", err)
	}
	if strings.ContainsRune(key, '{') && (strings.HasPrefix(key, "redisson_") || strings.HasPrefix(key, "distlock_gone:")) {
		return fmt.Errorf("redissonlock: the key %q is reserved", key)
	}
	return nil
}

// goSuffix follows the owner in the field of a lock of this package. The fields of
// Redisson end in the number of a thread, which is never zero.
const goSuffix = ":0"

// holder describes the field of a holder: the fingerprint of the owner, the name of the
// holder, and whether it is one of this package. The name of a thread of Redisson is
// made of the first digits of its client's id, of its number, and of the holds if there
// are several.
func holder(field, holds string) (fingerprint, name string, ours bool) {
	if owner, ok := strings.CutSuffix(field, goSuffix); ok {
		return driver.Fingerprint(owner), driver.HolderOf(owner), true
	}
	client, thread, ok := strings.Cut(strings.TrimSuffix(field, ":write"), ":")
	if !ok {
		return driver.Fingerprint(field), "", false
	}
	name = "redisson-" + client[:min(len(client), 8)] + "/thread-" + thread
	if holds != "1" {
		name += "/holds-" + holds
	}
	return driver.Fingerprint(field), name, false
}
