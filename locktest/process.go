package locktest

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
)

// locker returns a Locker of this process, with the backend b, which it closes at the end of
// the case.
func (f *fixture) locker(b driver.Backend, cfg distlock.Config) *distlock.Locker {
	f.Helper()
	l := distlock.New(b, cfg)
	if c, ok := b.(io.Closer); ok {
		f.closed[c] = true
	}
	f.Cleanup(func() {
		if err := l.Close(); err != nil {
			f.Errorf("Close: %v", err)
		}
	})
	return l
}

// turns makes many goroutines, of two processes if there are two, take their turn for some
// rounds. With little time for hand-overs a key often goes from one process to the other.
func (f *fixture) turns(goroutines, rounds int, turn func(l *distlock.Locker, i, round int) error) {
	f.Helper()
	cfg := distlock.Config{HandOverTime: time.Millisecond}
	lockers := []*distlock.Locker{f.locker(f.backend, cfg)}
	if f.Peer != nil {
		lockers = append(lockers, f.locker(f.peer().backend, cfg))
	}
	var wg sync.WaitGroup
	for i := range goroutines {
		wg.Go(func() {
			for round := range rounds {
				if err := turn(lockers[i%len(lockers)], i, round); err != nil {
					f.Errorf("Do: %v", err)
				}
			}
		})
	}
	wg.Wait()
}

// opts returns options for calls that wait as long as it takes. The interval is short for
// backends that are not a Queuer.
func (f *fixture) opts() distlock.Opts {
	return distlock.Opts{KeyTimeout: long, RetryInterval: max(f.Lease/50, time.Millisecond)}
}

// do starts a call of the Locker that waits for a key.
func (f *fixture) do(l *distlock.Locker, key string, work func(context.Context) error) *waiter {
	f.Helper()
	return f.begin(func(ctx context.Context) (driver.Grant, error) {
		return driver.Grant{}, l.Do(ctx, key, f.opts(), work)
	})
}

// calm waits until all other goroutines wait. In real time that cannot be known, and it
// returns at once.
func (f *fixture) calm() {
	if f.Bubble {
		synctest.Wait()
	}
}

// eventuallyFree checks that the key is free soon: after a wait that has failed, the
// Locker releases in the background.
func (f *fixture) eventuallyFree(key string) {
	f.Helper()
	f.release(f.seize(f.request(key, long), 0))
}

func (f *fixture) unreachable(context.Context) error {
	f.Error("the function runs without the lock")
	return errors.New("unreachable")
}

func nothing(context.Context) error { return nil }
