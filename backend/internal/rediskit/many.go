package rediskit

import (
	"log/slog"
	"reflect"
	"sync"

	"github.com/redis/go-redis/v9"
)

// many is how many open Backends of one client are a mistake: a Backend for each
// request, for example, which is never closed and keeps its connections.
const many = 10

var backends = struct {
	mu   sync.Mutex
	open map[redis.UniversalClient]int
}{open: make(map[redis.UniversalClient]int)}

// Opened counts a Backend of the client until closed is called, and logs a warning at
// the tenth.
func Opened(pkg string, logger *slog.Logger, client redis.UniversalClient) (closed func()) {
	if !reflect.ValueOf(client).Comparable() {
		return func() {}
	}
	add := func(n int) int {
		backends.mu.Lock()
		defer backends.mu.Unlock()
		backends.open[client] += n
		now := backends.open[client]
		if now == 0 {
			delete(backends.open, client)
		}
		return now
	}
	if n := add(1); n == many {
		logger.Warn(pkg+": a client has many Backends that are not closed; make one Backend and one Locker for each process, and close the Locker", "backends", n)
	}
	return sync.OnceFunc(func() { add(-1) })
}
