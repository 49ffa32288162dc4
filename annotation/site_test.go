package annotation_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/annotation"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/driver"
)

func newLocker(t *testing.T) *distlock.Locker {
	t.Helper()
	l := distlock.New(memlock.New(), distlock.Config{})
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// Each Locker has locks of its own, however many there are and whoever asks at
// the same time.
func TestManyLockers(t *testing.T) {
	t.Parallel()
	s := annotation.New("f", distlock.Opts{Value: "f"})
	lockers := make([]*distlock.Locker, 20) // more than it remembers
	var inside [20]atomic.Int32
	for i := range lockers {
		lockers[i] = newLocker(t)
	}
	var all sync.WaitGroup
	for range 10 {
		for i, l := range lockers {
			all.Go(func() {
				err := s.Do(t.Context(), l, nil, func(ctx context.Context) error {
					if n := inside[i].Add(1); n != 1 {
						t.Errorf("%d inside", n)
					}
					defer inside[i].Add(-1)
					return s.Do(ctx, l, nil, func(context.Context) error { return nil }) // a re-entry, so it is the same Locker
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
}

func TestSkip(t *testing.T) {
	t.Parallel()
	s := annotation.New("f", distlock.Opts{Value: "f", ParamLock: true})
	err := s.Do(t.Context(), newLocker(t), distlock.Skip, func(ctx context.Context) error {
		if _, ok := distlock.FromContext(ctx); ok {
			t.Error("a lock although there is none to take")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// alone is a backend that knows exclusive locks only.
type alone struct{ driver.Backend }

func (alone) Features() driver.Features { return driver.Features{} }

// What cannot be locked is an error of the call, each time, and not a panic.
func TestRefused(t *testing.T) {
	t.Parallel()
	run := func(context.Context) error { t.Error("ran"); return nil }
	s := annotation.New("Service.price", distlock.Opts{Prefix: "shop:", Value: "prices", Mode: distlock.Shared})
	l := distlock.New(alone{memlock.New()}, distlock.Config{})
	defer l.Close()
	for range 2 {
		for l, want := range map[*distlock.Locker]string{
			nil: "//distlock:lock on Service.price: the Locker is nil",
			l:   "Mode is shared, but the backend annotation_test.alone does not support sharing",
		} {
			err := s.Do(t.Context(), l, nil, run)
			if e := new(distlock.Error); !errors.As(err, &e) || e.Op != "options" || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		}
	}
}

func TestNewRefusesNonsense(t *testing.T) {
	t.Parallel()
	defer func() {
		if r, want := recover(), "distlock: options: RetryCount is negative: -1 (//distlock:lock on f)"; r != want {
			t.Errorf("recovered %v, want %s", r, want)
		}
	}()
	annotation.New("f", distlock.Opts{Value: "f", RetryCount: -1})
}
