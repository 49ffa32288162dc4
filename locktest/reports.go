package locktest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/await"
)

// mustStillHold checks that no other owner gets the key while the lease runs.
func mustStillHold(p *process, g driver.Grant) {
	p.Helper()
	other, err := p.backend.TryAcquire(p.Context(), p.request(g.Key, long))
	if err != nil {
		return
	}
	if await.Running(g.Sent, g.TTL) {
		p.Errorf("another owner got the key %v after the last request of the holder, with a lease of %v", time.Since(g.Sent), g.TTL)
	}
	p.release(other)
}

// mustReport checks the results of a batch.
func mustReport(p *process, results []driver.RenewResult, want ...driver.RenewStatus) {
	p.Helper()
	for i, r := range results {
		if r.Status != want[i] {
			p.Errorf("Renew, grant %d of %d: %v, want %v", i, len(results), r.Status, want[i])
		}
	}
}

// renewUnder calls Renew under ctx and returns the results in the order of the grants. Each
// grant must be reported once, before Renew returns. It calls also, if it is not nil, at each
// report. It may run on any goroutine.
func renewUnder(ctx context.Context, p *process, grants []driver.Grant, also func()) []driver.RenewResult {
	p.Helper()
	var mu sync.Mutex
	returned := false
	results := make([]driver.RenewResult, len(grants))
	reported := make([]bool, len(grants)) // by index
	p.backend.Renew(ctx, grants, func(i int, r driver.RenewResult) {
		mu.Lock()
		defer mu.Unlock()
		known := r.Status == driver.Renewed || r.Status == driver.Lost
		switch {
		case i < 0 || i >= len(grants):
			p.Errorf("Renew of %d grants: a report for grant %d, counted from 0", len(grants), i)
		case returned:
			p.Errorf("Renew of %d grants: a report for grant %d after Renew had returned", len(grants), i)
		case reported[i]:
			p.Errorf("Renew of %d grants: a second report for grant %d", len(grants), i)
		case known != (r.Err == nil):
			p.Errorf("Renew: grant %d is %v with the error %v; only an unknown outcome has an error", i, r.Status, r.Err)
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
		p.Errorf("Renew of %d grants: no report for grant %d", len(grants), i)
	}
	return results
}

// renew renews one grant. The error wraps ErrLost if it is lost.
func renew(ctx context.Context, p *process, g driver.Grant) error {
	p.Helper()
	result := renewUnder(ctx, p, []driver.Grant{g}, nil)[0]
	if result.Status == driver.Lost {
		return driver.ErrLost
	}
	return result.Err
}

// mustKeep checks that the owner of g has the key.
func mustKeep(p *process, g driver.Grant) {
	p.Helper()
	err := p.insist("Renew", func() error { return renew(p.Context(), p, g) })
	if err != nil {
		p.Errorf("the holder has lost the key: %v", err)
	}
	p.busy(p.request(g.Key, long))
}

// renewAll renews several grants. Each outcome must be known.
func renewAll(p *process, grants ...driver.Grant) []driver.RenewResult {
	p.Helper()
	results := renewUnder(p.Context(), p, grants, nil)
	for i, r := range results {
		if r.Status == driver.Unknown || r.Err != nil {
			p.Fatalf("Renew, grant %d of %d: %v, %v", i, len(results), r.Status, r.Err)
		}
	}
	return results
}
