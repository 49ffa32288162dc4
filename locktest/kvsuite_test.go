package locktest_test

import (
	"testing"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/locktest"
)

// The suite passes on a store with a network of its own, whose server has another time.
func TestRunOverNetwork(t *testing.T) { runOnKV(t, "") }

func runOnKV(t *testing.T, breaks string) {
	t.Helper()
	servers := make(map[driver.Backend]*kvServer)
	open := func(s *kvServer, n *locktest.Network) driver.Backend {
		b := &kvLock{dial: n.To(s.dial), breaks: breaks}
		servers[b] = s
		return b
	}
	locktest.Run(t, func(*testing.T) driver.Backend { return open(newKVServer(), new(locktest.Network)) }, locktest.Features{
		Bubble: true,
		Drop:   func(_ *testing.T, b driver.Backend, key string) { servers[b].forget(key) },
		Over: func(_ *testing.T, first driver.Backend, n *locktest.Network) driver.Backend {
			return open(servers[first], n)
		},
	})
}

// kvMutants are the rules that a kvLock can break, with the cases that must fail.
var kvMutants = []mutant{
	{"TryAcquire without a condition", []string{"network/late-request", "network/late-copy"}, nil},
	{"Renew without a condition", []string{"network/late-request", "network/late-copy"}, nil},
	{"Release without a condition", []string{
		"release/others", "release/twice", "expiry/late-owner", "loss/next-holder", "locker/loss-is-told", "network/late-request",
	}, nil},
	{"Renew revives", []string{"renewal/never-revives"}, nil},
	{"TryAcquire shortens", []string{"late/shortens-nothing"}, nil},
	{"Renew shortens", []string{"late/shortens-nothing"}, nil},
	{"a conflict in TryAcquire is a refusal", []string{"network/overlapping-requests"}, nil},
	{"a conflict in Renew is a loss", []string{"network/overlapping-requests"}, nil},
	{"sent after the reply", []string{"network/late-reply"}, nil},
	{"no time limit", []string{"network/silence", "network/no-reply"}, nil},
	{"network errors are refusals", []string{"network/silence", "network/lost-request", "network/lost-reply"}, nil},
	{"clock of the client", []string{"expiry/after-the-ttl"}, nil},
	{"no wake", []string{"turn/each-release"}, nil},
	{"no wake after an interruption", []string{"network/interrupted-watch"}, nil},
}
