package test

import (
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// Promise P8: a lost permit is not given to another caller in this process before the
// function has returned.
func TestLostPermitKeepsItsPlace(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		leases := []*distlock.Lease{testkit.MustAcquire(t, l, "k", permit), testkit.MustAcquire(t, l, "k", permit), testkit.MustAcquire(t, l, "k", permit)}
		s.Memory().Drop("k")
		for _, lease := range leases {
			<-lease.Context().Done()
		}
		next, writer := inBackground(t, l, permit), inBackground(t, l, writing)
		time.Sleep(time.Minute)
		mustWait(t, next)
		for i, lease := range leases {
			wantIs(t, lease.Release(t.Context()), distlock.ErrLost)
			if i == 0 {
				wantIs(t, mustGet(t, next).Release(t.Context()))
			}
			if i < 2 {
				mustWait(t, writer)
			}
		}
		wantIs(t, mustGet(t, writer).Release(t.Context()))
		nothingLeft(t, l, s)
	})
}
