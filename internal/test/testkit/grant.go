package testkit

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/distlock-go/distlock/driver"
)

// NewRequest returns a request of a new owner for one token and ten minutes.
func NewRequest(key string) driver.Request {
	return driver.Request{Key: key, Owner: uuid.NewString(), TTL: 10 * time.Minute, Tokens: 1}
}

// MustTry acquires a free key of a backend.
func MustTry(tb testing.TB, b driver.Backend, r driver.Request) driver.Grant {
	tb.Helper()
	g, err := b.TryAcquire(context.WithoutCancel(tb.Context()), r)
	if err != nil {
		tb.Fatalf("TryAcquire of a free key: %v", err)
	}
	return g
}

// MustBeBusy checks that a new owner does not get a key.
func MustBeBusy(tb testing.TB, b driver.Backend, key string) {
	tb.Helper()
	if _, err := b.TryAcquire(context.WithoutCancel(tb.Context()), NewRequest(key)); !errors.Is(err, driver.ErrNotAcquired) {
		tb.Fatalf("TryAcquire of a held key: %v", err)
	}
}

// MustRelease releases what was granted.
func MustRelease(tb testing.TB, b driver.Backend, g driver.Grant) {
	tb.Helper()
	if err := b.Release(context.WithoutCancel(tb.Context()), g); err != nil {
		tb.Fatalf("Release by the holder: %v", err)
	}
}

// ReleaseLost checks that a release tells that another has the key.
func ReleaseLost(tb testing.TB, b driver.Backend, g driver.Grant) {
	tb.Helper()
	if err := b.Release(context.WithoutCancel(tb.Context()), g); !errors.Is(err, driver.ErrLost) {
		tb.Errorf("release of what is lost: %v", err)
	}
}

// MustBeLost checks that a renewal tells that another has the key.
func MustBeLost(tb testing.TB, b driver.Backend, g driver.Grant) {
	tb.Helper()
	if got := Renewed(tb, b, g); !errors.Is(got, driver.ErrLost) {
		tb.Errorf("renewal of what is lost: %+v", got)
	}
}

// Renewed returns the result of a renewal.
func Renewed(tb testing.TB, b driver.Backend, g driver.Grant) error {
	tb.Helper()
	return driver.RenewAll(context.WithoutCancel(tb.Context()), b, []driver.Grant{g})[0]
}

// MustRenew renews what was granted.
func MustRenew(tb testing.TB, b driver.Backend, g driver.Grant) {
	tb.Helper()
	if got := Renewed(tb, b, g); got != nil {
		tb.Errorf("renewal by the holder: %+v", got)
	}
}

// TryRepeatedly is [MustTry] for a backend with a short timeout. It repeats calls that get
// no answer.
func TryRepeatedly(tb testing.TB, b driver.Backend, r driver.Request) (g driver.Grant) {
	tb.Helper()
	Eventually(tb, "it has the free key", func() (ok bool) {
		var err error
		if g, err = b.TryAcquire(context.WithoutCancel(tb.Context()), r); errors.Is(err, driver.ErrNotAcquired) {
			tb.Fatalf("TryAcquire of a free key: %v", err)
		}
		return err == nil
	})
	return g
}

// ReleaseRepeatedly is [MustRelease] for a backend with a short timeout.
func ReleaseRepeatedly(tb testing.TB, b driver.Backend, g driver.Grant) {
	tb.Helper()
	Eventually(tb, "the release is answered", func() bool {
		err := b.Release(context.WithoutCancel(tb.Context()), g)
		if errors.Is(err, driver.ErrLost) {
			tb.Fatalf("Release by the holder: %v", err)
		}
		return err == nil
	})
}
