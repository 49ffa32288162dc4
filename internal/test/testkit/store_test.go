package testkit_test

import (
	"testing"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/locktest"
)

// A store that no test has changed is an honest backend, and so are its views.
func TestConformance(t *testing.T) {
	for name, of := range map[string]func(s *testkit.Store) driver.Backend{
		"store":   func(s *testkit.Store) driver.Backend { return s },
		"queuing": func(s *testkit.Store) driver.Backend { return s.Only(testkit.Queuing) },
		"waking":  func(s *testkit.Store) driver.Backend { return s.Only(testkit.Waking) },
	} {
		t.Run(name, func(t *testing.T) {
			locktest.Run(t, func(*testing.T) driver.Backend { return of(testkit.NewStore()) }, locktest.Features{
				Bubble: true,
				Peer:   func(_ *testing.T, first driver.Backend) driver.Backend { return first },
			})
		})
	}
}
