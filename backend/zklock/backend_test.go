package zklock_test

import (
	"cmp"
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// patience is how long a test waits for something that must happen soon.
const patience = 15 * time.Second

// newBackend returns a Backend that is closed when the test ends. Unless the Config
// says otherwise, its timeouts are so long that a slow machine costs it neither a lease
// nor an answer.
func newBackend(tb testing.TB, servers []string, config ...zklock.Config) *zklock.Backend {
	tb.Helper()
	slow := append(config, zklock.Config{})[0]
	slow.SessionTimeout, slow.OpTimeout = cmp.Or(slow.SessionTimeout, 5*time.Minute), cmp.Or(slow.OpTimeout, 20*time.Second)
	made, err := zklock.New(servers, slow)
	if err != nil {
		tb.Fatal(err)
	}
	b := made.(*zklock.Backend)
	tb.Cleanup(func() {
		if err := b.Close(); err != nil {
			tb.Errorf("Close: %v", err)
		}
	})
	return b
}

// reconnects skips a test under the race detector if a session with watches gets a new
// connection in it. go-zookeeper 1.0.4 then reads the last transaction's ID in
// sendSetWatches while recvLoop writes it.
func reconnects(tb testing.TB) {
	tb.Helper()
	if testkit.Race {
		tb.Skip("go-zookeeper has a data race when it sets its watches again")
	}
}

// mustWork takes and releases a key with a Backend with a short timeout.
func mustWork(tb testing.TB, b *zklock.Backend, key string) {
	tb.Helper()
	testkit.ReleaseRepeatedly(tb, b, testkit.TryRepeatedly(tb, b, testkit.NewRequest(key)))
}
