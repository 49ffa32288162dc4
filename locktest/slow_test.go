package locktest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/locktest"
)

// slow is an honest backend on a busy machine: some requests or replies take longer than a
// lease.
type slow struct {
	*testkit.Store

	released sync.Map // by owner
}

func newSlow(lease time.Duration, seed uint64) *slow {
	s := &slow{Store: testkit.NewStore()}
	var mu sync.Mutex
	rnd := rand.New(rand.NewPCG(seed, 0))
	stalls := 20 // how many are left
	stall := func(ctx context.Context, _ *testkit.Call) error {
		mu.Lock()
		d := time.Duration(rnd.Int64N(int64(lease / 100)))
		if stalls > 0 && rnd.IntN(8) == 0 {
			stalls--
			d = time.Duration(rnd.Int64N(int64(5 * lease / 2)))
		}
		mu.Unlock()
		select {
		case <-time.After(d):
		case <-ctx.Done():
		}
		return nil
	}
	s.Before(stall)
	s.After(stall)
	return s
}

func (s *slow) TryAcquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	sent := time.Now()
	g, err := s.Store.TryAcquire(ctx, r)
	g.Sent = sent
	return g, err
}

// resend is the time after which a release is sent again. It cannot report a loss then.
const resend = 50 * time.Millisecond

// Release reports the loss of every lease that has ended, as some stores do. A memlock
// reports it only if another owner has the key.
func (s *slow) Release(ctx context.Context, g driver.Grant) error {
	begun := time.Now()
	_, again := s.released.Load(g.Owner)
	ended := g.Token != 0 && !again && errors.Is(driver.RenewAll(ctx, s.Backend, []driver.Grant{g})[0], driver.ErrLost)
	err := s.Store.Release(ctx, g)
	switch {
	case err == nil && ended:
		err = driver.ErrLost
	case err == nil:
		s.released.Store(g.Owner, true)
	}
	if time.Since(begun) >= resend && errors.Is(err, driver.ErrLost) {
		return nil
	}
	return err
}

// TestRunOnSlowMachine checks that the suite passes if the machine is too slow for the
// leases.
func TestRunOnSlowMachine(t *testing.T) {
	seeds := uint64(2)
	if testmode.Full() {
		seeds = 100
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			t.Parallel()
			features := locktest.Features{
				Lease:  200 * time.Millisecond,
				Resend: resend,
				Drop:   func(_ *testing.T, b driver.Backend, key string) { b.(*slow).Memory().Drop(key) },
				Peer:   func(_ *testing.T, first driver.Backend) driver.Backend { return first },
			}
			locktest.Run(t, func(*testing.T) driver.Backend {
				return newSlow(features.Lease, seed)
			}, locktest.WithStalls(features))
		})
	}
}
