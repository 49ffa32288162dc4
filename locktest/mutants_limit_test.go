package locktest_test

import (
	"context"
	"errors"
	"time"

	"github.com/distlock-go/distlock"
)

var limitMutants = []mutant{
	{"refuses-long-renewals", []string{"renewal/far-longer-than-before"}, func(s *spoiled) {
		s.renew = s.renewUpTo(time.Hour, distlock.RenewResult{Err: errors.New("too long")})
	}},
	{"loses-what-is-too-long", []string{"renewal/above-the-limit"}, func(s *spoiled) {
		s.limit = time.Hour
		s.renew = s.renewUpTo(s.limit, distlock.RenewResult{Status: distlock.Lost})
	}},
	{"takes-what-is-too-long", []string{"renewal/above-the-limit"}, func(s *spoiled) { s.limit = time.Hour }},
	{"calls-itself-unavailable-for-what-is-too-long", []string{"renewal/above-the-limit"}, func(s *spoiled) {
		s.limit = time.Hour
		s.renew = s.renewUpTo(s.limit, distlock.RenewResult{Err: distlock.ErrUnavailable})
	}},
	{"keeps-less-than-it-says", []string{"renewal/far-longer-than-before"}, func(s *spoiled) {
		s.limit = 2 * time.Hour
		s.renew = s.renewUpTo(time.Hour, distlock.RenewResult{Err: errors.New("too long")})
	}},
}

// renewUpTo renews with the TTLs that are not above the limit.
func (s *spoiled) renewUpTo(limit time.Duration, refusal distlock.RenewResult) renewFunc {
	return func(ctx context.Context, grants []distlock.Grant) []distlock.RenewResult {
		results := make([]distlock.RenewResult, len(grants))
		for i, g := range grants {
			if results[i] = refusal; g.TTL <= limit {
				results[i] = s.Backend.Renew(ctx, grants[i:i+1])[0]
			}
		}
		return results
	}
}

// limiting is a spoiled backend that says that it has a limit.
type limiting struct{ *spoiled }

func (l limiting) MaxTTL() time.Duration { return l.limit }
