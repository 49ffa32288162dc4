package locktest_test

import (
	"context"
	"errors"
	"time"

	"github.com/distlock-go/distlock/driver"
)

var limitMutants = []mutant{
	{"refuses-long-renewals", []string{"renewal/far-longer-than-before"}, func(s *spoiled) {
		s.renew = s.renewUpTo(time.Hour, driver.RenewResult{Err: errors.New("too long")})
	}},
	{"loses-what-is-too-long", []string{"renewal/above-the-limit"}, func(s *spoiled) {
		s.limit = time.Hour
		s.renew = s.renewUpTo(s.limit, driver.RenewResult{Status: driver.Lost})
	}},
	{"takes-what-is-too-long", []string{"renewal/above-the-limit"}, func(s *spoiled) { s.limit = time.Hour }},
}

// renewUpTo renews with the TTLs that are not above the limit.
func (s *spoiled) renewUpTo(limit time.Duration, refusal driver.RenewResult) renewFunc {
	return func(ctx context.Context, grants []driver.Grant) []driver.RenewResult {
		results := make([]driver.RenewResult, len(grants))
		for i, g := range grants {
			if results[i] = refusal; g.TTL <= limit {
				results[i] = driver.RenewAll(ctx, s.Backend, grants[i:i+1])[0]
			}
		}
		return results
	}
}
