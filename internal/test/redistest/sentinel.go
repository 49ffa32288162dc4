package redistest

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// MasterName is the name of the master of StartSentinels.
const MasterName = "locks"

// Sentinels are a master, its replica, and the sentinel processes. Master and Replica
// are the roles at the start.
type Sentinels struct {
	Master, Replica *Server
	Watchers        []*Server
}

// StartSentinels starts a master, a replica, and three sentinels. Two sentinels must
// agree that the master is dead.
func StartSentinels(tb testing.TB) *Sentinels {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
	defer cancel()

	s := &Sentinels{Master: Start(tb, "--repl-diskless-sync-delay", "0")}
	host, port, _ := strings.Cut(s.Master.Addr(), ":")
	s.Replica = Start(tb, "--replicaof", host+" "+port, "--repl-diskless-sync-delay", "0")
	replica := s.Replica.Client(tb)
	poll(ctx, tb, func() bool { return inSync(ctx, replica) }, func() string { return "the replica does not connect" })

	text := fmt.Sprintf(`sentinel monitor %[1]s %[2]s %[3]s 2
sentinel down-after-milliseconds %[1]s %[4]d
sentinel failover-timeout %[1]s 5000
`, MasterName, host, port, FailoverAfter.Milliseconds())
	for range 3 {
		s.Watchers = append(s.Watchers, launch(tb, &Server{args: []string{"--sentinel"}}, text))
	}
	for _, w := range s.Watchers {
		c := w.Client(tb, func(o *redis.Options) { o.Protocol = 2 }) // lists, not maps
		poll(ctx, tb, func() bool {
			master, err := c.Do(ctx, "sentinel", "master", MasterName).Slice()
			return err == nil && field(master, "num-other-sentinels") == "2" && field(master, "num-slaves") == "1"
		}, func() string { return "the sentinels do not find one another" })
	}
	return s
}

func field(pairs []any, name string) string {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i] == name {
			return fmt.Sprint(pairs[i+1])
		}
	}
	return ""
}

// Client returns a client that follows the master, and closes it when the test ends.
func (s *Sentinels) Client(tb testing.TB, change ...func(*redis.FailoverOptions)) *redis.Client {
	tb.Helper()
	o := &redis.FailoverOptions{MasterName: MasterName}
	for _, w := range s.Watchers {
		o.SentinelAddrs = append(o.SentinelAddrs, w.Addr())
	}
	for _, f := range change {
		f(o)
	}
	c := redis.NewFailoverClient(o)
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

// Failover tells the sentinels to promote the replica although the master is alive. It
// does not wait for the end of the failover.
func (s *Sentinels) Failover(tb testing.TB) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
	defer cancel()
	c := s.Watchers[0].Client(tb)
	var err error
	poll(ctx, tb, func() bool {
		err = c.Do(ctx, "sentinel", "failover", MasterName).Err()
		return err == nil // NOGOODSLAVE until the sentinel has checked the replica
	}, func() string { return "SENTINEL FAILOVER: " + err.Error() })
}

// IsMaster reports whether the server says that it is a master.
func (s *Server) IsMaster(tb testing.TB) bool {
	tb.Helper()
	c := s.Client(tb, func(o *redis.Options) { o.MaxRetries = -1 })
	defer c.Close() //nolint:errcheck // nothing is lost
	return strings.Contains(c.Info(tb.Context(), "replication").Val(), "role:master")
}

// CutOff stops the server's writes from reaching its replica until the replica process
// is continued. If the server is killed meanwhile, the replica misses those writes.
func (s *Server) CutOff(tb testing.TB, replica *Server) {
	tb.Helper()
	c := s.Client(tb)
	defer c.Close() //nolint:errcheck // nothing is lost
	replica.Stop()
	// Kill the connection first, so that data in the network does not arrive.
	if err := c.Do(tb.Context(), "client", "kill", "type", "replica").Err(); err != nil {
		tb.Fatal(err)
	}
}

// Replicated waits until the server's only replica has acknowledged all writes.
func (s *Server) Replicated(tb testing.TB) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
	defer cancel()
	c := s.Client(tb)
	defer c.Close() //nolint:errcheck // nothing is lost
	offset := func(before, after string) int {
		_, rest, _ := strings.Cut(c.Info(ctx, "replication").Val(), before)
		digits, _, _ := strings.Cut(rest, after)
		n, _ := strconv.Atoi(digits)
		return n
	}
	written := offset("master_repl_offset:", "\r")
	poll(ctx, tb, func() bool { return written > 0 && offset(",offset=", ",") >= written },
		func() string { return "the replica stays behind" })
}
