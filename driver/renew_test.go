package driver_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/distlock-go/distlock/driver"
)

// renewer is a Backend that has only Renew.
type renewer struct {
	driver.Backend

	renew func(grants []driver.Grant, report func(int, driver.RenewResult))
}

func (r renewer) Renew(_ context.Context, grants []driver.Grant, report func(int, driver.RenewResult)) {
	r.renew(grants, report)
}

// The results are in the order of the grants, in whatever order and from whatever
// goroutines they are reported. Run this with -race.
func TestRenewAllOrdersConcurrentReports(t *testing.T) {
	down := errors.New("no answer")
	want := func(i int) driver.RenewResult {
		r := driver.RenewResult{Status: driver.RenewStatus(i % 3)}
		if r.Status == driver.Unknown {
			r.Err = down
		}
		return r
	}
	b := renewer{renew: func(grants []driver.Grant, report func(int, driver.RenewResult)) {
		var wg sync.WaitGroup
		for i := range grants {
			wg.Go(func() { report(i, want(i)) })
		}
		wg.Wait()
	}}
	grants := make([]driver.Grant, 300)
	for i, r := range driver.RenewAll(t.Context(), b, grants) {
		if r != want(i) {
			t.Errorf("grant %d: %+v, want %+v", i, r, want(i))
		}
	}
}

func TestRenewAllTakesNoReportForUnknown(t *testing.T) {
	b := renewer{renew: func(_ []driver.Grant, report func(int, driver.RenewResult)) {
		report(1, driver.RenewResult{Status: driver.Renewed})
	}}
	results := driver.RenewAll(t.Context(), b, make([]driver.Grant, 3))
	want := [3]driver.RenewStatus{driver.Unknown, driver.Renewed, driver.Unknown}
	if len(results) != len(want) {
		t.Fatalf("%d results", len(results))
	}
	for i, r := range results {
		if r.Status != want[i] || r.Err != nil {
			t.Errorf("grant %d: %+v, want %v", i, r, want[i])
		}
	}
}

func TestRenewStatusString(t *testing.T) {
	for s, want := range map[driver.RenewStatus]string{
		driver.Unknown: "unknown", driver.Renewed: "renewed", driver.Lost: "lost", 7: "unknown",
	} {
		if got := s.String(); got != want {
			t.Errorf("status %d is %q, want %q", int(s), got, want)
		}
	}
}
