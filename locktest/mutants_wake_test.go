package locktest_test

import (
	"context"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// waking is a spoiled backend that is a Waker.
type waking struct{ *spoiled }

func (w waking) Wake(ctx context.Context, key string) <-chan struct{} { return w.wake(ctx, key) }

// wakes makes s a Waker that keeps the contract.
func (s *spoiled) wakes() {
	store := testkit.Wrap(s.Backend)
	s.wake = store.Only(testkit.Waking).(driver.Waker).Wake
	s.release = store.Release
	s.self = waking{s}
	s.peer = s.self
}

var wakeMutants = []mutant{
	{"does-not-say-that-the-watch-has-begun", []string{"wake/release"}, func(s *spoiled) {
		s.wakes()
		honest := s.wake
		s.wake = func(ctx context.Context, key string) <-chan struct{} {
			up := honest(ctx, key)
			<-up
			return up
		}
	}},
	{"wakes-nobody", []string{"wake/release", "wake/again"}, func(s *spoiled) {
		s.wakes()
		s.release = s.Backend.Release
	}},
	{"wakes-one", []string{"wake/release"}, func(s *spoiled) {
		s.wakes()
		honest := s.wake
		watches := 0
		s.wake = func(ctx context.Context, key string) <-chan struct{} {
			if watches++; watches == 1 {
				return honest(ctx, key)
			}
			begun := make(chan struct{}, 1) // the others only hear this
			begun <- struct{}{}
			return begun
		}
	}},
	{"forgets-all-watches-with-one", []string{"wake/again"}, func(s *spoiled) {
		s.wakes()
		honest := s.wake
		all, end := context.WithCancel(context.Background())
		s.wake = func(ctx context.Context, key string) <-chan struct{} {
			context.AfterFunc(ctx, end)
			return honest(all, key)
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
	{"says-that-a-free-key-is-held", []string{"revoke/only-this-holder"}, func(s *spoiled) {
		s.revoke = func(ctx context.Context, key string) (bool, error) {
			_, err := s.Backend.Revoke(ctx, key)
			return true, err
		}
	}},
}
