package test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/wiring"
)

// Options that the store would refuse when the work is done, or at every attempt, are
// refused before anything is sent.
func TestMaxTTL(t *testing.T) {
	s := testkit.NewStore()
	s.SetFeatures(driver.Features{MaxTTL: 30 * time.Second})
	l := testkit.NewLocker(t, s, distlock.Config{})
	for want, o := range map[string]distlock.Opts{
		"KeyTimeout is 2m0s": {KeyTimeout: 2 * time.Minute},
		"MinHold is 10m0s":   {MinHold: 10 * time.Minute},
	} {
		o.Value = "job"
		calls := map[string]func() error{
			"Acquire": func() error { _, err := l.Acquire(t.Context(), "k", o); return err },
			"Do":      func() error { return l.Do(t.Context(), "k", o, nothing) },
			"AcquireAll": func() error {
				_, err := l.AcquireAll(t.Context(), []string{"a", "b"}, o)
				return err
			},
			"Lead": func() error { return l.Lead(t.Context(), "k", o, nothing) },
			"Site": func() error { return panics(func() { wiring.Bind(l, o) }) },
		}
		for name, call := range calls {
			err := call()
			if err == nil || errors.Is(err, distlock.ErrUnavailable) {
				t.Fatalf("%s of what is too long: %v", name, err)
			}
			for _, part := range []string{"options", want, "30s", "testkit.Store"} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%s does not say %s: %v", name, part, err)
				}
			}
		}
	}
	if calls := s.Calls(); len(calls) > 0 {
		t.Errorf("the store was asked: %v", calls)
	}
	o := distlock.Opts{Value: "job", KeyTimeout: 30 * time.Second, MinHold: 30 * time.Second}
	wiring.Bind(l, o)
	wantIs(t, testkit.MustAcquire(t, l, "k", o).Release(t.Context()))
}

// The limit applies to the default, too.
func TestMaxTTLBelowTheDefault(t *testing.T) {
	s := testkit.NewStore()
	s.SetFeatures(driver.Features{MaxTTL: 2 * time.Second})
	l := testkit.NewLocker(t, s, distlock.Config{})
	_, err := l.Acquire(t.Context(), "k", distlock.Opts{})
	if err == nil || !strings.Contains(err.Error(), "KeyTimeout is 10s") || !strings.Contains(err.Error(), "2s") {
		t.Errorf("the default of KeyTimeout: %v", err)
	}
	wantIs(t, testkit.MustAcquire(t, l, "k", distlock.Opts{KeyTimeout: 2 * time.Second}).Release(t.Context()))
}

func nothing(context.Context) error { return nil }

// panics returns what f panics with.
func panics(f func()) (err error) {
	defer func() {
		if text, ok := recover().(string); ok {
			err = errors.New(text)
		}
	}()
	f()
	return nil
}
