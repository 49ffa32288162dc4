package locktest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/locktest"
)

// slow is an honest backend on a busy machine: some requests or replies take longer than a
// lease.
type slow struct {
	*memlock.Backend

	lease time.Duration

	mu       sync.Mutex
	rnd      *rand.Rand
	stalls   int             // how many are left
	released map[string]bool // by owner
}

func (s *slow) stall() {
	s.mu.Lock()
	d := time.Duration(s.rnd.Int64N(int64(s.lease / 100)))
	if s.stalls > 0 && s.rnd.IntN(8) == 0 {
		s.stalls--
		d = time.Duration(s.rnd.Int64N(int64(5 * s.lease / 2)))
	}
	s.mu.Unlock()
	time.Sleep(d)
}

func (s *slow) TryAcquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	sent := time.Now()
	s.stall()
	defer s.stall()
	g, err := s.Backend.TryAcquire(ctx, r)
	g.Sent = sent
	return g, err
}

func (s *slow) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	s.stall()
	defer s.stall()
	return s.Backend.Acquire(ctx, r)
}

func (s *slow) Renew(ctx context.Context, grants []driver.Grant, report func(int, driver.RenewResult)) {
	s.stall()
	defer s.stall()
	s.Backend.Renew(ctx, grants, report)
}

// resend is the time after which a release is sent again. It cannot report a loss then.
const resend = 50 * time.Millisecond

func (s *slow) Release(ctx context.Context, g driver.Grant) error {
	begun := time.Now()
	s.stall()
	err := s.release(ctx, g)
	s.stall()
	if time.Since(begun) >= resend && errors.Is(err, driver.ErrLost) {
		return nil
	}
	return err
}

// release reports the loss of every lease that has ended, as some stores do. A memlock
// reports it only if another owner has the key.
func (s *slow) release(ctx context.Context, g driver.Grant) error {
	s.mu.Lock()
	again := s.released[g.Owner]
	s.mu.Unlock()
	if g.Token != 0 && !again && driver.RenewAll(ctx, s.Backend, []driver.Grant{g})[0].Status == driver.Lost {
		return driver.ErrLost
	}
	err := s.Backend.Release(ctx, g)
	if err == nil {
		s.mu.Lock()
		s.released[g.Owner] = true
		s.mu.Unlock()
	}
	return err
}

func (s *slow) Inspect(ctx context.Context, prefix string, limit int) ([]driver.KeyInfo, error) {
	s.stall()
	defer s.stall()
	return s.Backend.Inspect(ctx, prefix, limit)
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
				Drop:   func(_ *testing.T, b driver.Backend, key string) { b.(*slow).Drop(key) },
				Peer:   func(_ *testing.T, first driver.Backend) driver.Backend { return first },
			}
			locktest.Run(t, func(*testing.T) driver.Backend {
				return &slow{
					Backend: memlock.New(), lease: features.Lease,
					rnd: rand.New(rand.NewPCG(seed, 0)), stalls: 20, released: make(map[string]bool),
				}
			}, locktest.WithStalls(features))
		})
	}
}
