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

// locker returns a Locker with b. The Locker closes b at the end of the case.
func (f *fixture) locker(b driver.Backend) *distlock.Locker {
	f.Helper()
	return f.lockerWith(b, distlock.Config{})
}

func (f *fixture) lockerWith(b driver.Backend, cfg distlock.Config) *distlock.Locker {
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
	lockers := []*distlock.Locker{f.lockerWith(f.backend, cfg)}
	if f.Peer != nil {
		lockers = append(lockers, f.lockerWith(f.peer(), cfg))
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

// last returns the backend of the last process, which is the second if there are two.
func (f *fixture) last() driver.Backend {
	f.Helper()
	if f.Peer == nil {
		return f.backend
	}
	return f.peer()
}

// opts returns options for calls that wait as long as it takes. The interval is short for
// backends that are not a Queuer.
func (f *fixture) opts() distlock.Opts {
	return distlock.Opts{KeyTimeout: long, RetryInterval: max(f.Lease/50, time.Millisecond)}
}

// start runs do on a new goroutine.
func (f *fixture) start(do func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	return done
}

// end waits for a call that start has begun.
func (f *fixture) end(done <-chan error) error {
	f.Helper()
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		f.Fatalf("a call has not returned after %v", patience)
		return nil
	}
}

// calm waits until all other goroutines wait. In real time that cannot be known, and it
// returns at once.
func (f *fixture) calm() {
	if f.Bubble {
		synctest.Wait()
	}
}

// mustNotEnd checks that a call has not returned. In virtual time it also knows that the
// call has begun to wait.
func (f *fixture) mustNotEnd(done <-chan error) {
	f.Helper()
	f.calm()
	select {
	case err := <-done:
		f.Fatalf("a call has returned although another owner holds the key: %v", err)
	default:
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
