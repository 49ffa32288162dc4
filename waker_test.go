package distlock_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
)

// wakingStore is a store without a queue that tells waiters when to look.
type wakingStore struct {
	driver.Backend // without its other abilities

	mu       sync.Mutex
	attempts int
	watches  map[chan struct{}]func() error // whether it has ended
	begun    func()                         // called before the first value of a watch
}

func newWakingStore() *wakingStore {
	return &wakingStore{Backend: newStore(), watches: map[chan struct{}]func() error{}}
}

func (s *wakingStore) TryAcquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	s.mu.Lock()
	s.attempts++
	s.mu.Unlock()
	return s.Backend.TryAcquire(ctx, r)
}

func (s *wakingStore) Release(ctx context.Context, g driver.Grant) error {
	err := s.Backend.Release(ctx, g)
	s.wakeAll()
	return err
}

func (s *wakingStore) Wake(ctx context.Context, _ string) <-chan struct{} {
	if s.begun != nil {
		s.begun()
	}
	up := make(chan struct{}, 1)
	up <- struct{}{}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watches[up] = ctx.Err
	return up
}

func (s *wakingStore) wakeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for up, ended := range s.watches {
		if ended() != nil {
			delete(s.watches, up)
			continue
		}
		select {
		case up <- struct{}{}:
		default:
		}
	}
}

// open returns the number of watches that have not ended.
func (s *wakingStore) open() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ended := range s.watches {
		if ended() == nil {
			n++
		}
	}
	return n
}

func bubbleWaking(t *testing.T, f func(t *testing.T, s *wakingStore, l, other *distlock.Locker)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newWakingStore()
		l, other := distlock.New(s, distlock.Config{}), distlock.New(s, distlock.Config{})
		defer closeLocker(t, l)
		defer closeLocker(t, other)
		f(t, s, l, other)
	})
}

// rarely is a wait between attempts that is longer than any test.
const rarely = time.Hour

func TestWakerWakesAtOnce(t *testing.T) {
	bubbleWaking(t, func(t *testing.T, s *wakingStore, l, other *distlock.Locker) {
		held := mustAcquire(t, other, "k", distlock.Opts{})
		if s.open() != 0 {
			t.Error("a free key is watched")
		}
		go func() {
			time.Sleep(3 * time.Second)
			wantIs(t, held.Release(t.Context()))
		}()
		start := time.Now()
		got := mustAcquire(t, l, "k", distlock.Opts{RetryInterval: rarely})
		if d := time.Since(start); d != 3*time.Second {
			t.Errorf("acquired after %v, want 3s", d)
		}
		if n := s.open(); n != 0 {
			t.Errorf("%d watches are left", n)
		}
		wantIs(t, got.Release(t.Context()))
	})
}

// The key becomes free after the refusal and before the watch begins: there is no message
// for that, so the first value of the watch must lead to an attempt.
func TestWakerReleasedBeforeTheWatch(t *testing.T) {
	bubbleWaking(t, func(t *testing.T, s *wakingStore, l, other *distlock.Locker) {
		held := mustAcquire(t, other, "k", distlock.Opts{})
		s.begun = func() { wantIs(t, held.Release(t.Context())) }
		start := time.Now()
		got := mustAcquire(t, l, "k", distlock.Opts{RetryInterval: rarely})
		if d := time.Since(start); d != 0 {
			t.Errorf("acquired after %v", d)
		}
		wantIs(t, got.Release(t.Context()))
	})
}

// Attempts after a message are not those of RetryCount, and the polls go on.
func TestWakerDoesNotSpendAttempts(t *testing.T) {
	bubbleWaking(t, func(t *testing.T, s *wakingStore, l, other *distlock.Locker) {
		held := mustAcquire(t, other, "k", distlock.Opts{})
		const messages = 20
		go func() {
			for range messages {
				time.Sleep(10 * time.Millisecond)
				s.wakeAll()
			}
		}()
		start, before := time.Now(), s.attempts
		_, err := l.Acquire(t.Context(), "k", distlock.Opts{RetryCount: 3, RetryInterval: time.Second})
		wantIs(t, err, distlock.ErrNotAcquired)
		if d := time.Since(start); d < 2*time.Second || d >= 4*time.Second {
			t.Errorf("gave up after %v, want two intervals", d)
		}
		// Three of its own, one when the watch began, and one for each message.
		if n := s.attempts - before; n != 3+1+messages {
			t.Errorf("%d attempts, want %d", n, 3+1+messages)
		}
		wantIs(t, held.Release(t.Context()))
	})
}

// A caller that does not wait watches nothing. One that gives up ends its watch.
func TestWakerEndsItsWatch(t *testing.T) {
	bubbleWaking(t, func(t *testing.T, s *wakingStore, l, other *distlock.Locker) {
		held := mustAcquire(t, other, "k", distlock.Opts{})
		s.begun = func() { t.Error("a caller that does not wait watches the key") }
		_, err := l.Acquire(t.Context(), "k", distlock.Opts{RetryCount: 1})
		wantIs(t, err, distlock.ErrNotAcquired)

		s.begun = nil
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = l.Acquire(ctx, "k", distlock.Opts{RetryInterval: rarely})
		wantIs(t, err, distlock.ErrNotAcquired, context.DeadlineExceeded)
		_, err = l.Acquire(t.Context(), "k", distlock.Opts{RetryInterval: rarely, MaxWait: time.Second})
		wantIs(t, err, distlock.ErrNotAcquired)
		if n := s.open(); n != 0 {
			t.Errorf("%d watches are left", n)
		}
		wantIs(t, held.Release(t.Context()))
	})
}
