package natslock_test

import (
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/casstores/natslock"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// Processes wait for a key, each with a connection of its own, while its holder renews it. Then
// they take turns. The same in virtual time is in backend/caslock.
func TestHundredsTakeTurns(t *testing.T) {
	testmode.Long(t)
	for _, n := range []int{2, 10, 100, 300, 600} {
		cluster := startCluster(t, 1)
		open := func() testkit.Queue {
			return natslock.New(cluster.connect(t), natslock.Config{}).(testkit.Queue)
		}
		holder := open()
		r := testkit.NewRequest("crowd")
		r.TTL = 10 * time.Second
		g := testkit.MustTry(t, holder, r)
		c, over := testkit.Crowd{Looks: testkit.Looks{Every: 500 * time.Millisecond}}, make(chan struct{})
		go func() {
			defer close(over)
			c.Run(t, open, n, 20*time.Second)
		}()
		var longest time.Duration
		for begin := time.Now(); time.Since(begin) < 10*time.Second; time.Sleep(100 * time.Millisecond) {
			start := time.Now()
			testkit.MustRenew(t, holder, g)
			longest = max(longest, time.Since(start))
		}
		testkit.MustRelease(t, holder, g)
		<-over
		t.Logf("%d processes: %d visits/s, %d %% in order, the longest wait %v, the longest renewal %v",
			n, c.Visits/10, 100*c.InOrder/max(1, c.Visits), c.Longest, longest)
		if n <= 300 && c.InOrder < c.Visits*9/10 {
			t.Errorf("%d of %d visits were in order", c.InOrder, c.Visits)
		}
	}
}
