package testkit

import (
	"context"
	"slices"
	"sync"

	"github.com/distlock-go/distlock"
)

// Set is what a DoAll holds until Release, for tests that do other things meanwhile.
type Set struct {
	Context context.Context   // of the function
	Leases  []*distlock.Lease // in the order of their keys

	release func() error
}

// AcquireAll calls DoAll with a function that returns when Release is called.
func AcquireAll(ctx context.Context, l *distlock.Locker, keys []string, o distlock.Opts) (*Set, error) {
	in, out, done := make(chan *Set, 1), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- l.DoAll(ctx, keys, o, func(ctx context.Context) error {
			s := &Set{Context: ctx}
			for _, key := range slices.Compact(slices.Sorted(slices.Values(keys))) {
				if lease, held := distlock.Held(ctx, o.Prefix+key); held {
					s.Leases = append(s.Leases, lease)
				}
			}
			in <- s
			<-out
			return nil
		})
	}()
	select {
	case s := <-in:
		s.release = sync.OnceValue(func() error { close(out); return <-done })
		return s, nil
	case err := <-done:
		return nil, err
	}
}

// Lease returns the lease of a full key, or nil.
func (s *Set) Lease(key string) *distlock.Lease {
	for _, lease := range s.Leases {
		if lease.Key() == key {
			return lease
		}
	}
	return nil
}

// Release ends the function and returns the result of DoAll, always the same.
func (s *Set) Release() error { return s.release() }
