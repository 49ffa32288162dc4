package locktest

import (
	"context"
	"slices"
	"sync"

	"github.com/distlock-go/distlock/driver"
)

// renewUnder calls Renew under ctx and returns the results in the order of the grants. Each
// grant must be reported once, before Renew returns. It calls also, if it is not nil, at each
// report. It may run on any goroutine.
func (f *fixture) renewUnder(ctx context.Context, grants []driver.Grant, also func()) []driver.RenewResult {
	f.Helper()
	var mu sync.Mutex
	returned := false
	results := make([]driver.RenewResult, len(grants))
	reported := make([]bool, len(grants)) // by index
	f.backend.Renew(ctx, grants, func(i int, r driver.RenewResult) {
		mu.Lock()
		defer mu.Unlock()
		known := r.Status == driver.Renewed || r.Status == driver.Lost
		switch {
		case i < 0 || i >= len(grants):
			f.Errorf("Renew of %d grants: a report for grant %d, counted from 0", len(grants), i)
		case returned:
			f.Errorf("Renew of %d grants: a report for grant %d after Renew had returned", len(grants), i)
		case reported[i]:
			f.Errorf("Renew of %d grants: a second report for grant %d", len(grants), i)
		case known != (r.Err == nil):
			f.Errorf("Renew: grant %d is %v with the error %v; only an unknown outcome has an error", i, r.Status, r.Err)
		}
		if i >= 0 && i < len(grants) && !returned {
			results[i], reported[i] = r, true
		}
		if also != nil {
			also()
		}
	})
	mu.Lock()
	defer mu.Unlock()
	returned = true
	if i := slices.Index(reported, false); i >= 0 { // one says enough
		f.Errorf("Renew of %d grants: no report for grant %d", len(grants), i)
	}
	return results
}
