package redislock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

const (
	readersEach  = 250
	readersLease = 3 * time.Second
)

// beReaders holds the key for readersEach readers until the end of its input. Its order is
// the address of the server.
func beReaders(c *testkit.Child) error {
	var addr string
	if err := c.Decode(&addr); err != nil {
		return err
	}
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer client.Close()
	locker := distlock.New(redislock.New(client, unhurried), distlock.Config{})
	defer locker.Close()

	ctx := context.Background()
	leases := make([]*distlock.Lease, readersEach)
	errs := make([]error, readersEach)
	each := func(f func(i int) error) error {
		var wg sync.WaitGroup
		for i := range leases {
			wg.Go(func() { errs[i] = f(i) })
		}
		wg.Wait()
		return errors.Join(errs...)
	}
	err := each(func(i int) (err error) {
		leases[i], err = locker.Acquire(ctx, lockKey, distlock.Opts{Mode: driver.Shared, KeyTimeout: readersLease})
		return err
	})
	if err != nil {
		return err
	}
	c.Say("in")
	c.Hear()
	return each(func(i int) error { return leases[i].Release(ctx) })
}

// A thousand readers of four processes hold the key together. A waiting writer keeps
// later readers out, and gets the key when the others have left; a killed process costs
// it the rest of the readers' lease and no more.
func TestReadersInFourProcesses(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	s := realServer(t)
	var all []*testkit.Process
	for range 4 {
		all = append(all, testkit.StartChild(t, "readers", s.real.Addr()))
	}
	for _, p := range all {
		p.Hear("in")
	}
	locker := distlock.New(redislock.New(s.real.Client(t), unhurried), distlock.Config{})
	defer locker.Close()
	once := distlock.Opts{RetryCount: 1}
	if _, err := locker.Acquire(t.Context(), lockKey, once); !errors.Is(err, driver.ErrNotAcquired) {
		t.Fatalf("a writer among the readers: %v", err)
	}

	in := make(chan error, 1)
	var left time.Time
	go func() {
		held, err := locker.Acquire(t.Context(), lockKey, distlock.Opts{})
		left = time.Now()
		if err == nil {
			err = held.Release(context.Background())
		}
		in <- err
	}()
	testkit.Eventually(t, "the writer waits", func() bool { return s.ZCard(t.Context(), queueKey).Val() == 1 })
	late := once
	late.Mode = driver.Shared
	if _, err := locker.Acquire(t.Context(), lockKey, late); !errors.Is(err, driver.ErrNotAcquired) {
		t.Fatalf("a reader behind the writer: %v", err)
	}

	stalled := stalls(t, s.real)
	killed := time.Now()
	all[0].Kill()
	for _, p := range all[1:] {
		p.CloseInput()
		if code := p.Wait(); code != 0 {
			t.Errorf("the readers ended with code %d", code)
		}
	}
	if err := <-in; err != nil {
		t.Fatal(err)
	}
	// The time to notice the end of the lease is added.
	if d := left.Sub(killed); d > readersLease+time.Second+2*stalled() {
		t.Errorf("the writer came in %v after the readers were killed", d)
	} else {
		t.Logf("the writer came in %v after the readers with a lease of %v were killed", d, readersLease)
	}
}
