package redistest

import (
	"context"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// Refusal is a state in which a server is alive and answers writes with an error.
type Refusal struct {
	Error   string // the first word of the error
	Cluster bool   // needs a server of [StartCluster]
	begin   func(tb testing.TB, admin *redis.Client) (end func())
}

// Refusals returns the states.
func Refusals() []Refusal {
	return []Refusal{
		{Error: "OOM", begin: settings(map[string]string{"maxmemory": "1"})},
		{Error: "MISCONF", begin: unsaved},
		{Error: "NOREPLICAS", begin: settings(map[string]string{"min-replicas-to-write": "1"})},
		{Error: "READONLY", begin: orphaned(nil)},
		{Error: "MASTERDOWN", begin: orphaned(settings(map[string]string{"replica-serve-stale-data": "no"}))},
		{Error: "LOADING", begin: loading},
		{Error: "BUSY", begin: busy},
		{Error: "NOAUTH", begin: locked},
		{Error: "CLUSTERDOWN", Cluster: true, begin: slotless},
	}
}

// Begin brings the server into the state and waits until writes fail. The returned
// function ends the state and waits until writes succeed; only its first call does so.
func (r Refusal) Begin(tb testing.TB, s *Server) (end func()) {
	tb.Helper()
	// A connection that is authenticated stays authenticated: admin keeps working.
	admin := s.Client(tb, func(o *redis.Options) { o.PoolSize, o.MaxRetries, o.ReadTimeout = 1, -1, time.Minute })
	must(tb, admin.Ping(tb.Context()).Err())
	leave := r.begin(tb, admin)
	r.await(tb, s, func(err error) bool { return redis.HasErrorPrefix(err, r.Error) })
	end = sync.OnceFunc(func() {
		leave()
		r.await(tb, s, func(err error) bool { return err == nil })
		admin.Del(context.Background(), probe)
	})
	tb.Cleanup(end)
	return end
}

const probe = "distlock:redistest:probe"

// await writes until as accepts the result.
func (r Refusal) await(tb testing.TB, s *Server, as func(error) bool) {
	tb.Helper()
	ctx := context.Background() // the test's own context may be cancelled already
	child.Await(tb, "the server answers with "+r.Error+", or no longer", func() bool {
		// Use a new connection each time: a server authenticates a connection only
		// once.
		c := redis.NewClient(&redis.Options{Addr: s.Addr(), MaxRetries: -1})
		defer c.Close() //nolint:errcheck // nothing is lost
		return as(c.Eval(ctx, "return redis.call('SET', KEYS[1], 'x')", []string{probe}).Err())
	})
}

// settings returns a function that changes the configuration.
func settings(to map[string]string) func(tb testing.TB, admin *redis.Client) func() {
	return func(tb testing.TB, admin *redis.Client) func() {
		tb.Helper()
		was := make(map[string]string)
		for name, value := range to {
			was[name] = admin.ConfigGet(tb.Context(), name).Val()[name]
			must(tb, admin.ConfigSet(tb.Context(), name, value).Err())
		}
		return func() {
			for name, value := range was {
				must(tb, admin.ConfigSet(context.Background(), name, value).Err())
			}
		}
	}
}

// unsaved makes the server fail to save its data: its directory is gone.
func unsaved(tb testing.TB, admin *redis.Client) func() {
	tb.Helper()
	must(tb, os.RemoveAll(admin.ConfigGet(tb.Context(), "dir").Val()["dir"]))
	end := settings(map[string]string{"save": "3600 1"})(tb, admin)
	must(tb, admin.BgSave(tb.Context()).Err())
	return end
}

// orphaned makes the server a replica of a master that does not exist. The server keeps
// its data, because no master sends it other data.
func orphaned(besides func(testing.TB, *redis.Client) func()) func(testing.TB, *redis.Client) func() {
	return func(tb testing.TB, admin *redis.Client) func() {
		tb.Helper()
		end := func() {}
		if besides != nil {
			end = besides(tb, admin)
		}
		must(tb, admin.Do(tb.Context(), "REPLICAOF", "127.0.0.1", "1").Err())
		return func() {
			must(tb, admin.Do(context.Background(), "REPLICAOF", "NO", "ONE").Err())
			end()
		}
	}
}

// loading makes the server load its data, slowly.
func loading(tb testing.TB, admin *redis.Client) func() {
	tb.Helper()
	const keys, prefix = 2000, "distlock:redistest:filler"
	end := settings(map[string]string{
		"rdbcompression": "no", "loading-process-events-interval-bytes": "1024",
		"key-load-delay": "10000", // microseconds
	})(tb, admin)
	must(tb, admin.Do(tb.Context(), "debug", "populate", keys, prefix, 2000).Err())
	other := redis.NewClient(&redis.Options{Addr: admin.Options().Addr, ReadTimeout: -1, MaxRetries: -1})
	loaded := make(chan error, 1)
	go func() { loaded <- other.Do(context.Background(), "debug", "reload").Err() }()
	return func() {
		end() // loading finishes faster
		must(tb, <-loaded)
		_ = other.Close()
		for _, key := range admin.Keys(context.Background(), prefix+"*").Val() {
			admin.Del(context.Background(), key)
		}
	}
}

// busy runs a script that does not end.
func busy(tb testing.TB, admin *redis.Client) func() {
	tb.Helper()
	end := settings(map[string]string{"busy-reply-threshold": "20"})(tb, admin)
	other := redis.NewClient(&redis.Options{Addr: admin.Options().Addr, ReadTimeout: -1, MaxRetries: -1})
	killed := make(chan error, 1)
	go func() { killed <- other.Eval(context.Background(), "while true do end", nil).Err() }()
	return func() {
		must(tb, admin.ScriptKill(context.Background()).Err())
		if err := <-killed; err == nil || !strings.Contains(err.Error(), "killed") {
			tb.Errorf("the script that was killed: %v", err)
		}
		_ = other.Close()
		end()
	}
}

// locked requires a password that the clients do not have.
func locked(tb testing.TB, admin *redis.Client) func() {
	tb.Helper()
	end := settings(map[string]string{"requirepass": "nobody knows"})(tb, admin)
	must(tb, admin.ClientKillByFilter(tb.Context(), "TYPE", "normal", "SKIPME", "yes").Err())
	return end
}

// slotless removes all slots from a Cluster of one server.
func slotless(tb testing.TB, admin *redis.Client) func() {
	tb.Helper()
	must(tb, admin.Do(tb.Context(), "cluster", "delslotsrange", 0, slots-1).Err())
	return func() { must(tb, admin.ClusterAddSlotsRange(context.Background(), 0, slots-1).Err()) }
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// EachMove runs test once for each [Refusal] of a server that is alone, with so many
// clients. move makes their servers refuse, and the addresses lead to other servers,
// which are empty, as that of a managed Redis or of a proxy does. Connections stay with
// the server that they were made to, and there the refusal lasts.
func EachMove(t *testing.T, n int, test func(t *testing.T, clients []*redis.Client, move func())) {
	t.Helper()
	testmode.Long(t) // two servers for each client and refusal
	for _, refusal := range Refusals() {
		if refusal.Cluster {
			continue
		}
		t.Run(refusal.Error, func(t *testing.T) {
			t.Parallel()
			clients, moves := make([]*redis.Client, n), make([]func(), n)
			for i := range n {
				from, to := Start(t), Start(t)
				var at atomic.Pointer[Server]
				at.Store(from)
				clients[i] = from.Client(t, func(o *redis.Options) {
					o.MinIdleConns = 2
					o.Dialer = func(ctx context.Context, network, _ string) (net.Conn, error) {
						return new(net.Dialer).DialContext(ctx, network, at.Load().Addr())
					}
				})
				moves[i] = func() { refusal.Begin(t, from); at.Store(to) }
			}
			test(t, clients, func() {
				for _, move := range moves {
					move()
				}
			})
		})
	}
}
