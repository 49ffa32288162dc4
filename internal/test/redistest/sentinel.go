package redistest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/internal/test/child"
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
	s := &Sentinels{Master: Start(tb)}
	s.Replica = StartReplica(tb, s.Master)
	host, port, _ := strings.Cut(s.Master.Addr(), ":")
	text := fmt.Sprintf(`sentinel monitor %[1]s %[2]s %[3]s 2
sentinel down-after-milliseconds %[1]s %[4]d
sentinel failover-timeout %[1]s 5000
`, MasterName, host, port, FailoverAfter.Milliseconds())
	for range 3 {
		s.Watchers = append(s.Watchers, launch(tb, &Server{args: []string{"--sentinel"}}, text))
	}
	for _, w := range s.Watchers {
		child.Await(tb, "the sentinels find one another", func() bool {
			master := redis.NewMapStringStringCmd(tb.Context(), "sentinel", "master", MasterName)
			err := w.admin().Process(tb.Context(), master)
			return err == nil && master.Val()["num-other-sentinels"] == "2" && master.Val()["num-slaves"] == "1"
		})
	}
	return s
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
	child.Await(tb, "the sentinel has checked the replica", func() bool {
		return s.Watchers[0].admin().Do(tb.Context(), "sentinel", "failover", MasterName).Err() == nil
	})
}
