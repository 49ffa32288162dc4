package proof_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// eachClock runs a test on a simulated and on a real Redis server. set sets the server's clock
// to the true time plus d, which is an hour or minus an hour, and open returns a Backend with
// connections of its own.
func eachClock(t *testing.T, f func(t *testing.T, d time.Duration, set func(time.Duration), open func() driver.Backend)) {
	t.Helper()
	for _, d := range []time.Duration{time.Hour, -time.Hour} {
		t.Run("redislock/simulated/"+d.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := startVirtual(t, "redislock")
				f(t, d, v.runClocks(), func() driver.Backend {
					return redislock.New(redistest.VirtualClient(t, v.servers[0]), redislock.Config{})
				})
			})
		})
		t.Run("redislock/real/"+d.String(), func(t *testing.T) {
			testmode.Long(t)
			c := redistest.NewClock(t)
			s := startRedis(t, "redislock", 1, c.Start)
			f(t, d, func(d time.Duration) { c.Set(t, d) }, func() driver.Backend { return s.open(t, new(spoilnet.Network)) })
			s.mustBeEmpty(t)
		})
	}
}
