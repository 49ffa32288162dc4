package proof_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// A function panics, or ends its goroutine: the key is released once, and the panic
// continues with its value.
//
// Row 13 (redislock, redlock, zklock, etcdlock, sqllock): the key is released exactly
// once. Fails if the release is not deferred, and if it is sent twice.
func TestPanicAndGoexit(t *testing.T) {
	eachStore(t, func(t *testing.T, s *store) {
		l, double := s.observed(t)
		other := s.locker(t)
		o := distlock.Opts{KeyTimeout: longLease} // no lease expires during the test
		boom := errors.New("boom")
		for name, end := range map[string]func(){
			"panic":  func() { panic(boom) },
			"goexit": runtime.Goexit,
		} {
			before := len(double.Calls(testkit.Release))
			var recovered any
			var gone sync.WaitGroup
			gone.Go(func() {
				defer func() { recovered = recover() }()
				_ = l.Do(context.Background(), key, o, func(context.Context) error { end(); return nil })
			})
			gone.Wait()
			if name == "panic" && recovered != boom { //nolint:errorlint // the same value
				t.Errorf("recovered %v", recovered)
			}
			next, err := other.TryAcquire(t.Context(), key, o)
			if err != nil {
				t.Fatalf("after a %s: %v", name, err)
			}
			if n := len(double.Calls(testkit.Release)) - before; n != 1 {
				t.Errorf("after a %s: %d releases", name, n)
			}
			mustRelease(t, next)
			mustRelease(t, testkit.MustAcquire(t, l, key, o)) // the gate is open
		}
		s.mustBeEmpty(t)
	}, "redislock", "redlock", "zklock", "etcdlock", "sqllock")
}

// A function ignores that its context has ended after the lease was lost. Another
// process gets the key; in this process no caller enters before the function returns.
//
// Row 13 (redislock, redlock, zklock, etcdlock, sqllock): the gate stays shut until the
// function has returned. Fails if the gate is opened when the lease is lost.
func TestIgnoredContext(t *testing.T) {
	eachStore(t, func(t *testing.T, s *store) {
		l, other := s.unrenewed(t), s.locker(t)
		stubborn, started := make(chan struct{}), make(chan struct{})
		var running atomic.Bool
		first := make(chan error, 1)
		go func() {
			first <- l.Do(context.Background(), key, distlock.Opts{KeyTimeout: time.Second},
				func(context.Context) error {
					running.Store(true)
					close(started)
					<-stubborn
					running.Store(false)
					return nil
				})
		}()
		<-started
		mustRelease(t, testkit.MustAcquire(t, other, key, distlock.Opts{}))
		s.mustBeEmpty(t) // the key is free everywhere

		second := make(chan error, 1)
		go func() {
			second <- l.Do(context.Background(), key, distlock.Opts{}, func(context.Context) error {
				if running.Load() {
					t.Error("two holders in one process")
				}
				return nil
			})
		}()
		for range 20 {
			beside, err := l.TryAcquire(t.Context(), key, distlock.Opts{})
			if err == nil {
				t.Error("let in beside one that still runs")
				mustRelease(t, beside)
				break
			}
			wantKinds(t, "an attempt beside it", err, "not-acquired")
			time.Sleep(time.Millisecond)
		}
		close(stubborn)
		wantKinds(t, "the stubborn", <-first, "lost")
		wantKinds(t, "the next", <-second, "none")
		s.mustBeEmpty(t)
	}, "redislock", "redlock", "zklock", "etcdlock", "sqllock")
}
