package testkit_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/locktest"
)

func request(key string) driver.Request {
	return driver.Request{Key: key, Owner: "me", TTL: time.Minute, Tokens: 4}
}

// A store that no test has changed is an honest backend, and so are its views.
func TestConformance(t *testing.T) {
	for name, of := range map[string]func(s *testkit.Store) driver.Backend{
		"store":   func(s *testkit.Store) driver.Backend { return s },
		"queuing": func(s *testkit.Store) driver.Backend { return s.Only(testkit.Queuing) },
		"waking":  func(s *testkit.Store) driver.Backend { return s.Only(testkit.Waking) },
	} {
		t.Run(name, func(t *testing.T) {
			locktest.Run(t, func(*testing.T) driver.Backend { return of(testkit.NewStore()) }, locktest.Features{
				Bubble: true,
				Peer:   func(_ *testing.T, first driver.Backend) driver.Backend { return first },
			})
		})
	}
}

// A failed call is not applied, the call of a lost reply is, and one that hangs ends with its
// context. All are recorded.
func TestFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		s.Fail(testkit.ErrBroken, testkit.Try)
		if _, err := s.TryAcquire(t.Context(), request("k")); !errors.Is(err, testkit.ErrBroken) || !s.Free(t, "k") {
			t.Errorf("failed: %v, free %v", err, s.Free(t, "k"))
		}
		s.Fail(nil)
		s.LoseReplies(testkit.Try, 1)
		if _, err := s.TryAcquire(t.Context(), request("k")); !errors.Is(err, testkit.ErrBroken) || s.Free(t, "k") {
			t.Errorf("a lost reply: %v, free %v", err, s.Free(t, "k"))
		}
		s.Hang(testkit.Release)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if err := s.Release(ctx, request("k").Grant()); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second || s.Free(t, "k") {
			t.Errorf("%v after %v, free %v", err, time.Since(start), s.Free(t, "k"))
		}
		if n, m := len(s.Calls(testkit.Try)), len(s.Calls()); n != 2 || m != 3 {
			t.Errorf("%d attempts of %d calls", n, m)
		}
	})
}
