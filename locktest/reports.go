package locktest

import (
	"context"
	"fmt"
	"sync"

	"github.com/distlock-go/distlock/driver"
)

// reports checks what one Renew reports.
type reports struct {
	mu       sync.Mutex
	results  []driver.RenewResult
	reported []bool // by index
	returned bool
	faults   []string
}

// renewOn calls Renew and returns the results in the order of the grants. Each grant must
// be reported once, before Renew returns. It may run on any goroutine.
func (f *fixture) renewOn(ctx context.Context, b driver.Backend, grants []driver.Grant) []driver.RenewResult {
	f.Helper()
	return f.renewAnd(ctx, b, grants, func() {})
}

// renewAnd is renewOn that calls do at each report.
func (f *fixture) renewAnd(ctx context.Context, b driver.Backend, grants []driver.Grant, do func()) []driver.RenewResult {
	f.Helper()
	rs := &reports{results: make([]driver.RenewResult, len(grants)), reported: make([]bool, len(grants))}
	f.mu.Lock()
	f.renewals = append(f.renewals, rs)
	f.mu.Unlock()
	b.Renew(ctx, grants, func(i int, r driver.RenewResult) {
		rs.report(i, r)
		do()
	})
	results := rs.finish()
	rs.check(f)
	return results
}

// checkReports looks for reports that came after their Renew had returned.
func (f *fixture) checkReports() {
	f.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, rs := range f.renewals {
		rs.check(f)
	}
}

// check fails the case if a report was wrong.
func (rs *reports) check(f *fixture) {
	f.Helper()
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, fault := range rs.faults {
		f.Errorf("Renew of %d grants: %s", len(rs.results), fault)
	}
	rs.faults = nil
}

// report takes one report.
func (rs *reports) report(i int, r driver.RenewResult) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	known := r.Status == driver.Renewed || r.Status == driver.Lost
	switch {
	case i < 0 || i >= len(rs.results):
		rs.fault("a report for grant %d, counted from 0", i)
	case rs.returned:
		rs.fault("a report for grant %d after Renew had returned", i)
	case rs.reported[i]:
		rs.fault("a second report for grant %d", i)
	default:
		rs.results[i], rs.reported[i] = r, true
		if known != (r.Err == nil) {
			rs.fault("grant %d is %v with the error %v; only an unknown outcome has an error", i, r.Status, r.Err)
		}
	}
}

// finish is called when Renew has returned.
func (rs *reports) finish() []driver.RenewResult {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.returned = true
	for i, reported := range rs.reported {
		if !reported {
			rs.fault("no report for grant %d", i)
			break // one says enough
		}
	}
	return rs.results
}

func (rs *reports) fault(format string, args ...any) {
	rs.faults = append(rs.faults, fmt.Sprintf(format, args...))
}
