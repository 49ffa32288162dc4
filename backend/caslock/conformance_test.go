package caslock_test

import (
	"cmp"
	"testing"

	"go.uber.org/goleak"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/locktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	for _, abilities := range []string{"", "m", "t", "mt"} {
		t.Run(cmp.Or(abilities, "none"), func(t *testing.T) {
			var s *server
			locktest.Run(t, func(t *testing.T) driver.Backend {
				s = newServer(t)
				return s.open(abilities).(driver.Extender).(driver.Backend) // the suite leaves out what is missing; other tests have the rest
			}, locktest.Features{
				Bubble: true,
				Peer:   func(*testing.T, driver.Backend) driver.Backend { return s.open(abilities) },
				Drop:   func(_ *testing.T, _ driver.Backend, key string) { s.drop(key) },
			})
		})
	}
}
