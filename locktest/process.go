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

// locker returns a Locker over b, which closes b in the end.
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

// turns has each of many goroutines, of two processes if there are two, take its
// turn for some rounds. Few hand-overs inside a process make a key go to and fro.
func (f *fixture) turns(goroutines, rounds, handOvers int, turn func(l *distlock.Locker, i, round int) error) {
	f.Helper()
	cfg := distlock.Config{HandOvers: handOvers}
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

// last returns the backend of the last process: the second if there are two.
func (f *fixture) last() driver.Backend {
	f.Helper()
	if f.Peer == nil {
		return f.backend
	}
	return f.peer()
}

// opts returns options for calls that wait as long as it takes. A backend that
// is no Queuer is asked often.
func (f *fixture) opts() distlock.Opts {
	return distlock.Opts{KeyTimeout: long, RetryInterval: max(f.Lease/50, time.Millisecond)}
}

// start runs do on a goroutine of its own.
func (f *fixture) start(do func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	return done
}

// end waits for what was started.
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

// calm waits until all that is under way has come to rest, where that can be
// known: in virtual time.
func (f *fixture) calm() {
	if f.Bubble {
		synctest.Wait()
	}
}

// mustNotEnd checks that what was started is still under way. Only virtual time
// can tell that it has begun to wait.
func (f *fixture) mustNotEnd(done <-chan error) {
	f.Helper()
	f.calm()
	select {
	case err := <-done:
		f.Fatalf("a call has returned although another holds the key: %v", err)
	default:
	}
}

// eventuallyFree checks that anybody can have the key soon: what a Locker leaves
// behind when a wait fails, it clears away in the background.
func (f *fixture) eventuallyFree(key string) {
	f.Helper()
	f.release(f.seize(f.request(key, long), 0))
}

func (f *fixture) unreachable(context.Context) error {
	f.Error("the function runs without the lock")
	return errors.New("unreachable")
}

func nothing(context.Context) error { return nil }
