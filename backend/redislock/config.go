package redislock

import (
	"cmp"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
)

// Config configures the backend that [New] returns. Its zero value works. All processes
// that share locks should have the same Config.
type Config struct {
	// InboxPrefix begins the names of the channels on which waiting processes receive
	// messages. Processes with different prefixes exclude each other too, but a waiter
	// gets the lock later, by polling. The default is "distlock:inbox:".
	InboxPrefix string

	// Clock is the key with the last token, which all locks of a server share by
	// default. Who may write it can end the order of tokens, and can stop all locks
	// that use it. So programs that do not trust each other need a clock each: see
	// "Access control" in the package comment. All programs that share a lock must use
	// the same clock. Otherwise tokens of the lock may be out of order by 20 ms, or by
	// more if the server's time is set back. It must not contain braces. In a Cluster
	// the keys of the clocks begin with the name. The default is "distlock:clock".
	Clock string

	// ClaimWindow is how long a lock that was granted to a waiter is kept for it, until
	// it claims the lock. It must be longer than a message and a round trip take. A
	// waiter that has died delays the waiters behind it by this time. A waiter that was
	// granted the lock and does not run for half of it may lose the lock. The default is a
	// second.
	ClaimWindow time.Duration

	// OpTimeout is the time within which the server must answer an operation. Otherwise
	// the operation fails, whatever the timeouts of the client are. The default is a
	// second.
	OpTimeout time.Duration

	// Logger gets the warnings of this package: that the server may evict locks, and
	// that a client has ten backends that are not closed. The default is
	// [slog.Default].
	Logger *slog.Logger

	// FreeRelease gives clients of other libraries that wait for the same keys a fair
	// chance. A release then leaves the key free, and tells the first waiter to make an
	// attempt: whoever comes first gets the key. By default a release passes the key to
	// the first waiter inside the server, so a client that polls never finds it free
	// while others wait. A hand-over inside the process is not affected:
	// [distlock.Config.HandOverTime] limits it.
	//
	// A waiter of this package that loses the race keeps its place in the queue, and
	// tries again after its RetryInterval or at the next release. If the first waiter
	// has died, the next one gets the key after its own RetryInterval.
	//
	// [distlock.Config.HandOverTime]: https://pkg.go.dev/github.com/distlock-go/distlock#Config
	FreeRelease bool

	// WaitReplicas is how many replicas must have confirmed a lock before an
	// acquisition returns, so that the lock survives a failover to one of them.
	// Renewals and releases do not wait. If fewer replicas confirm within
	// WaitReplicasTimeout, the acquisition fails.
	//
	// The backend sends WAIT on the connection that wrote the lock, because WAIT counts
	// only the writes of its connection. So the client must be a [*redis.Client], a
	// [*redis.ClusterClient] or a [*redis.Ring]. In a Cluster, an acquisition is not
	// confirmed while its slot moves. The default is not to wait.
	WaitReplicas int

	// WaitReplicasTimeout must be shorter than OpTimeout. The default is half of
	// OpTimeout.
	WaitReplicasTimeout time.Duration
}

// withDefaults fills in the zero fields, and panics for a field that makes no sense with
// each other or with the client.
func (c Config) withDefaults(client redis.UniversalClient) Config {
	c.InboxPrefix = cmp.Or(c.InboxPrefix, "distlock:inbox:")
	c.Clock = cmp.Or(c.Clock, defaultClock)
	if strings.ContainsAny(c.Clock, "{}") {
		panic(fmt.Sprintf("redislock: Config.Clock: %q contains a brace", c.Clock))
	}
	c.ClaimWindow = rediskit.Duration("redislock", "ClaimWindow", c.ClaimWindow, defaultClaimWindow)
	c.OpTimeout = rediskit.Duration("redislock", "OpTimeout", c.OpTimeout, time.Second)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	switch {
	case c.WaitReplicas < 0:
		panic(fmt.Sprintf("redislock: Config.WaitReplicas: %d", c.WaitReplicas))
	case c.WaitReplicas == 0 && c.WaitReplicasTimeout != 0:
		panic(fmt.Sprintf("redislock: Config.WaitReplicasTimeout: %v without WaitReplicas", c.WaitReplicasTimeout))
	case c.WaitReplicas == 0:
		return c
	}
	switch client.(type) {
	case *redis.Client, *redis.ClusterClient, *redis.Ring:
	default:
		panic(fmt.Sprintf("redislock: Config.WaitReplicas: a %T may have many connections", client))
	}
	c.WaitReplicasTimeout = rediskit.Duration("redislock", "WaitReplicasTimeout", c.WaitReplicasTimeout, c.OpTimeout/2)
	if c.WaitReplicasTimeout >= c.OpTimeout {
		panic(fmt.Sprintf("redislock: Config.WaitReplicasTimeout: %v is not shorter than OpTimeout, %v", c.WaitReplicasTimeout, c.OpTimeout))
	}
	return c
}

const defaultClaimWindow = time.Second
