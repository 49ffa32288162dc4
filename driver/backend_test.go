package driver_test

import (
	"testing"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/locktest"
)

// The example keeps the whole contract.
func TestConformance(t *testing.T) {
	locktest.Run(t, func(*testing.T) driver.Backend { return newTableLock() }, locktest.Features{
		Bubble: true, // virtual time: for a store without network connections
		Peer:   func(_ *testing.T, first driver.Backend) driver.Backend { return first },
		Drop: func(_ *testing.T, b driver.Backend, key string) {
			t := b.(*tableLock)
			t.mu.Lock()
			defer t.mu.Unlock()
			t.rows[key] = row{token: t.rows[key].token}
		},
	})
}
