package driver

import (
	"context"
	"sync"
)

// RenewStatus is what became of one grant in [Backend].Renew.
type RenewStatus int

// The outcomes of a renewal. The zero value is the one that claims nothing.
const (
	Unknown RenewStatus = iota // no answer: it may or may not have been renewed
	Renewed                    // extended to a full TTL
	Lost                       // the store says that this owner does not have the key
)

// String returns the status in lower case.
func (s RenewStatus) String() string {
	switch s {
	case Renewed:
		return "renewed"
	case Lost:
		return "lost"
	default:
		return "unknown"
	}
}

// RenewResult is the outcome for one grant.
type RenewResult struct {
	Status RenewStatus
	Err    error // why it is unknown, or why it is lost if more is known than that; else nil
}

// RenewAll calls b.Renew and returns the results in the order of the grants when all
// are known.
func RenewAll(ctx context.Context, b Backend, grants []Grant) []RenewResult {
	results := make([]RenewResult, len(grants))
	var mu sync.Mutex
	b.Renew(ctx, grants, func(i int, r RenewResult) {
		mu.Lock()
		defer mu.Unlock()
		results[i] = r
	})
	return results
}
