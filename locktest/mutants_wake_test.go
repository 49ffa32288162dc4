package locktest_test

import (
	"context"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// waking is a spoiled backend that is a Waker.
type waking struct{ *spoiled }

// Enqueue has another signature than that of a Queuer.
func (waking) Enqueue() {}

func (w waking) Turn(ctx context.Context, r driver.Request) <-chan driver.Grant {
	return w.turn(ctx, r)
}

// wakes makes s a Waker that keeps the contract.
func (s *spoiled) wakes() {
	store := testkit.Wrap(s.Backend)
	s.turn = store.Only(testkit.Waking).(driver.Waker).Turn
	s.release = store.Release
	s.self = waking{s}
	s.peer = s.self
}

var wakeMutants = []mutant{
	{"does-not-say-that-the-watch-has-begun", []string{"turn/before-the-watch"}, func(s *spoiled) {
		s.wakes()
		honest := s.turn
		s.turn = func(ctx context.Context, r driver.Request) <-chan driver.Grant {
			up := honest(ctx, r)
			<-up
			return up
		}
	}},

	{"wakes-one", []string{"turn/each-release"}, func(s *spoiled) {
		s.wakes()
		honest := s.turn
		watches := 0
		s.turn = func(ctx context.Context, r driver.Request) <-chan driver.Grant {
			if watches++; watches == 1 {
				return honest(ctx, r)
			}
			begun := make(chan driver.Grant, 1) // the others only hear this
			begun <- driver.Grant{}
			return begun
		}
	}},
	{"forgets-all-watches-with-one", []string{"turn/others-leave"}, func(s *spoiled) {
		s.wakes()
		honest := s.turn
		all, end := context.WithCancel(context.Background())
		s.turn = func(ctx context.Context, r driver.Request) <-chan driver.Grant {
			context.AfterFunc(ctx, end)
			return honest(all, r)
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
	{"asks-at-once", []string{"revoke/only-this-holder"}, func(s *spoiled) {
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
