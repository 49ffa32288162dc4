package locktest_test

import (
	"context"
	"sync"
	"testing"

	"github.com/distlock-go/distlock/driver"
)

// waking is a spoiled backend that is a Waker.
type waking struct{ *spoiled }

func (w waking) Wake(ctx context.Context, key string) <-chan struct{} { return w.wake(ctx, key) }

// watches are those of one store.
type watches struct {
	mu   sync.Mutex
	open map[chan struct{}]watched
}

type watched struct {
	ctx context.Context // of the watch
	key string
}

func (w *watches) begin(ctx context.Context, key string) chan struct{} {
	up := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[up] = watched{ctx, key}
	return up
}

func (w *watches) wake(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for up, of := range w.open {
		if of.key == key && of.ctx.Err() == nil {
			signal(up)
		}
	}
}

func signal(up chan<- struct{}) {
	select {
	case up <- struct{}{}:
	default:
	}
}

// wakes makes s a Waker that keeps the contract.
func (s *spoiled) wakes() *watches {
	w := &watches{open: make(map[chan struct{}]watched)}
	s.wake = func(ctx context.Context, key string) <-chan struct{} {
		up := w.begin(ctx, key)
		signal(up)
		return up
	}
	s.release = func(ctx context.Context, g driver.Grant) error {
		defer w.wake(g.Key)
		return s.Backend.Release(ctx, g)
	}
	s.peer = waking{s}
	return w
}

// TestRunOnWaker checks that the suite passes on a Waker that keeps the contract.
func TestRunOnWaker(t *testing.T) {
	runOn(t, &mutant{spoil: func(s *spoiled) { s.wakes() }})
}

var wakeMutants = []mutant{
	{"does-not-say-that-the-watch-has-begun", []string{"wake/release"}, func(s *spoiled) {
		w := s.wakes()
		s.wake = func(ctx context.Context, key string) <-chan struct{} { return w.begin(ctx, key) }
	}},
	{"wakes-nobody", []string{"wake/release", "wake/again"}, func(s *spoiled) {
		s.wakes()
		s.release = s.Backend.Release
	}},
	{"wakes-before-the-release", []string{"wake/again"}, func(s *spoiled) {
		w := s.wakes()
		s.release = func(ctx context.Context, g driver.Grant) error {
			w.wake(g.Key)
			for up := range w.open {
				for len(up) > 0 && ctx.Err() == nil { // until the waiter has looked
					<-up
				}
			}
			return s.Backend.Release(ctx, g)
		}
	}},
	{"wakes-one", []string{"wake/release"}, func(s *spoiled) {
		w := s.wakes()
		s.release = func(ctx context.Context, g driver.Grant) error {
			err := s.Backend.Release(ctx, g)
			w.mu.Lock()
			defer w.mu.Unlock()
			for up, of := range w.open {
				if of.key == g.Key {
					signal(up)
					delete(w.open, up)
					break
				}
			}
			return err
		}
	}},
	{"forgets-all-watches-with-one", []string{"wake/ends"}, func(s *spoiled) {
		w := s.wakes()
		honest := s.wake
		s.wake = func(ctx context.Context, key string) <-chan struct{} {
			context.AfterFunc(ctx, func() {
				w.mu.Lock()
				defer w.mu.Unlock()
				clear(w.open)
			})
			return honest(ctx, key)
		}
	}},
}

var revokeMutants = []mutant{
	{"asks-nobody", []string{"revoke/asks", "revoke/readers"}, func(s *spoiled) {
		s.revoke = func(ctx context.Context, key string) (bool, error) {
			infos, err := s.Inspect(ctx, key, 1)
			return len(infos) > 0, err
		}
	}},
	{"asks-and-takes-away", []string{"revoke/asks"}, func(s *spoiled) {
		s.revoke = func(ctx context.Context, key string) (bool, error) {
			held, err := s.Backend.Revoke(ctx, key)
			s.Drop(key)
			return held, err
		}
	}},
	{"asks-at-once", []string{"revoke/asks", "revoke/only-this-holder"}, func(s *spoiled) {
		s.answer(func(r driver.Request, _ *driver.Grant, err error) error {
			_, _ = s.Backend.Revoke(context.Background(), r.Key)
			return err
		})
	}},
	{"says-that-a-free-key-is-held", []string{"revoke/free"}, func(s *spoiled) {
		s.revoke = func(ctx context.Context, key string) (bool, error) {
			_, err := s.Backend.Revoke(ctx, key)
			return true, err
		}
	}},
}
