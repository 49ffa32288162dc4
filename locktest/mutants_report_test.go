package locktest_test

import (
	"context"
	"errors"
	"time"

	"github.com/distlock-go/distlock/driver"
)

var reportMutants = []mutant{
	{"reports-twice", []string{"renewal/large-batch"}, func(s *spoiled) {
		s.reports = func(ctx context.Context, grants []driver.Grant, report func(int, driver.RenewResult)) {
			s.Backend.Renew(ctx, grants, func(i int, r driver.RenewResult) {
				report(i, r)
				if i == len(grants)-1 {
					report(i, r)
				}
			})
		}
	}},
	{"reports-the-next-index", []string{"renewal/large-batch"}, func(s *spoiled) {
		s.reports = func(ctx context.Context, grants []driver.Grant, report func(int, driver.RenewResult)) {
			s.Backend.Renew(ctx, grants, func(i int, r driver.RenewResult) { report(i+1, r) })
		}
	}},
	{"reports-nothing-without-time", []string{"renewal/no-report-afterwards"}, func(s *spoiled) {
		s.reports = func(ctx context.Context, grants []driver.Grant, report func(int, driver.RenewResult)) {
			if ctx.Err() == nil {
				s.Backend.Renew(ctx, grants, report)
			}
		}
	}},
	{"reports-afterwards", []string{"renewal/no-report-afterwards"}, func(s *spoiled) {
		s.reports = func(ctx context.Context, grants []driver.Grant, report func(int, driver.RenewResult)) {
			s.Backend.Renew(ctx, grants, report)
			if ctx.Err() != nil {
				time.AfterFunc(50*time.Millisecond, func() { report(0, driver.RenewResult{Status: driver.Renewed}) })
			}
		}
	}},
	{"renews-with-an-error", []string{"renewal/large-batch"}, func(s *spoiled) {
		s.reports = func(ctx context.Context, grants []driver.Grant, report func(int, driver.RenewResult)) {
			s.Backend.Renew(ctx, grants, func(i int, r driver.RenewResult) {
				r.Err = errors.New("something else")
				report(i, r)
			})
		}
	}},
}

var featuresMutants = []mutant{
	{"limits-the-ttl-later", []string{"exclusion/one-holder"}, func(s *spoiled) {
		calls := 0
		s.features = func(f *driver.Features) {
			if calls++; calls > 1 {
				f.MaxTTL = 24 * time.Hour
			}
		}
	}},
}
