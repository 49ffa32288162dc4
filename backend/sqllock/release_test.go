package sqllock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// To release an owner ends its Acquire, and its place in the queue is free.
func TestReleaseOfWaiter(t *testing.T) {
	each(t, func(t *testing.T, d database, dsn string) {
		b := d.opened(t, dsn)
		holder := testkit.MustTry(t, b, request("key", time.Minute))
		for _, mode := range []driver.Mode{driver.Exclusive, driver.Shared} {
			r := request("key", time.Minute)
			r.Mode = mode
			done := make(chan error, 1)
			go func() {
				_, err := b.Acquire(t.Context(), r)
				done <- err
			}()
			waiting := func() int {
				infos, err := b.Inspect(t.Context(), "key", 1)
				if err != nil || len(infos) != 1 {
					t.Fatalf("Inspect: %+v, %v", infos, err)
				}
				return infos[0].Waiting
			}
			testkit.Eventually(t, "a place", func() bool { return waiting() == 1 })
			if err := b.Release(t.Context(), r.Grant()); err != nil {
				t.Errorf("Release of a waiter: %v", err)
			}
			select {
			case err := <-done:
				if !errors.Is(err, driver.ErrNotAcquired) {
					t.Errorf("Acquire: %v", err)
				}
			case <-time.After(patience):
				t.Fatal("Acquire goes on after the release")
			}
			if n := waiting(); n != 0 {
				t.Errorf("%d places after the release", n)
			}
		}
		testkit.MustRelease(t, b, holder)
	})
}

// Close ends the calls that wait, and refuses others. It can be called again.
func TestClose(t *testing.T) {
	each(t, func(t *testing.T, d database, dsn string) {
		b := d.opened(t, dsn)
		testkit.MustTry(t, b, request("key", time.Minute))
		done := make(chan error, 1)
		go func() {
			_, err := b.Acquire(t.Context(), request("key", time.Minute))
			done <- err
		}()
		testkit.Eventually(t, "a place", func() bool {
			infos, err := b.Inspect(t.Context(), "key", 1)
			return err == nil && infos[0].Waiting == 1
		})
		if err := b.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		select {
		case err := <-done:
			if err == nil || errors.Is(err, driver.ErrNotAcquired) {
				t.Errorf("Acquire on a closed Backend: %v", err)
			}
		case <-time.After(patience):
			t.Fatal("Acquire goes on after Close")
		}
		tellsWhy(t, b, "closed")
	})
}
