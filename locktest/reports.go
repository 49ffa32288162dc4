package locktest

import (
	"context"
	"errors"
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

// mustReport checks the results of a batch: each matches nil or an error.
func mustReport(p *process, results []error, want ...error) {
	p.Helper()
	for i, err := range results {
		if !errors.Is(err, want[i]) {
			p.Errorf("Renew, grant %d of %d: %v, want %v", i, len(results), err, want[i])
		}
	}
}

// renewUnder calls Renew under ctx and returns the results in the order of the grants. Each
// grant must be reported once, before Renew returns. It calls also, if it is not nil, at each
// report. It may run on any goroutine.
func renewUnder(ctx context.Context, p *process, grants []driver.Grant, also func()) []error {
	p.Helper()
	var mu sync.Mutex
	results := make([]error, len(grants))
	reported := make([]bool, len(grants)) // by index
	p.backend.Renew(ctx, grants, func(i int, err error) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case i < 0 || i >= len(grants):
			p.Errorf("Renew of %d grants: a report for grant %d, counted from 0", len(grants), i)
		case reported[i]: // also after Renew has returned: then each was reported, or failed below
			p.Errorf("Renew of %d grants: a second report for grant %d", len(grants), i)
		default:
			results[i], reported[i] = err, true
		}
		if also != nil {
			also()
		}
	})
	mu.Lock()
	defer mu.Unlock()
	if i := slices.Index(reported, false); i >= 0 { // one says enough
		p.Errorf("Renew of %d grants: no report for grant %d", len(grants), i)
	}
	return slices.Clone(results) // a report may come late
}

// renew renews one grant.
func renew(ctx context.Context, p *process, g driver.Grant) error {
	p.Helper()
	return renewUnder(ctx, p, []driver.Grant{g}, nil)[0]
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
func renewAll(p *process, grants ...driver.Grant) []error {
	p.Helper()
	results := renewUnder(p.Context(), p, grants, nil)
	for i, err := range results {
		if await.InDoubt(err) {
			p.Fatalf("Renew, grant %d of %d: %v", i, len(results), err)
		}
	}
	return results
}
