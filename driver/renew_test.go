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

	renew func(grants []driver.Grant, report func(int, error))
}

func (r renewer) Renew(_ context.Context, grants []driver.Grant, report func(int, error)) {
	r.renew(grants, report)
}

// The results are in the order of the grants, in whatever order and from whatever
// goroutines they are reported. Run this with -race.
func TestRenewAllOrdersConcurrentReports(t *testing.T) {
	down := errors.New("no answer")
	want := func(i int) error { return []error{nil, driver.ErrLost, down}[i%3] }
	b := renewer{renew: func(grants []driver.Grant, report func(int, error)) {
		var wg sync.WaitGroup
		for i := range grants {
			wg.Go(func() { report(i, want(i)) })
		}
		wg.Wait()
	}}
	grants := make([]driver.Grant, 300)
	for i, r := range driver.RenewAll(t.Context(), b, grants) {
		if !errors.Is(r, want(i)) {
			t.Errorf("grant %d: %+v, want %+v", i, r, want(i))
		}
	}
}

func TestRenewAllTakesNoReportForUnknown(t *testing.T) {
	b := renewer{renew: func(_ []driver.Grant, report func(int, error)) {
		report(1, nil)
	}}
	results := driver.RenewAll(t.Context(), b, make([]driver.Grant, 3))
	if len(results) != 3 || results[1] != nil {
		t.Fatal(results)
	}
	for _, i := range []int{0, 2} {
		if err := results[i]; err == nil || errors.Is(err, driver.ErrLost) {
			t.Errorf("grant %d: %v", i, err)
		}
	}
}
