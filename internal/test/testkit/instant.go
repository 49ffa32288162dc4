package testkit

import (
	"context"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// Instant grants every request and stores nothing, so that only the caller is measured.
type Instant struct{}

// Features implements [driver.Backend].
func (Instant) Features() driver.Features { return driver.Features{} }

// TryAcquire implements [driver.Backend].
func (Instant) TryAcquire(_ context.Context, r driver.Request) (driver.Grant, error) {
	g := r.Grant()
	g.Token, g.LastToken, g.Sent = 1, 1, time.Now()
	return g, nil
}

// Renew implements [driver.Backend].
func (Instant) Renew(_ context.Context, grants []driver.Grant, report func(int, driver.RenewResult)) {
	for i := range grants {
		report(i, driver.RenewResult{Status: driver.Renewed})
	}
}

// Release implements [driver.Backend].
func (Instant) Release(context.Context, driver.Grant) error { return nil }
