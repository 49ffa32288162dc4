package caslock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// A store that answers nothing has a few seconds, however many leases there are. Silent cells
// hold up no other that answers. A store that is slow has as long as it takes.
func TestRenewalsOfASilentStore(t *testing.T) {
	const n, slow = 5000, -1
	for silent, renewed := range map[int]int{0: n, 1: n - 1, 31: n - 31, n: 0, slow: n} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t)
			s.latency = time.Millisecond
			b := s.open("")
			var grants []driver.Grant
			for i := range n {
				grants = append(grants, testkit.MustTry(t, b, testkit.NewRequest(fmt.Sprint("key", i))))
			}
			s.fault = func(_, key, _ string) fault {
				var i int
				if _, err := fmt.Sscanf(key, "key%d", &i); err == nil && i < silent {
					return mute
				}
				return none
			}
			if silent == slow {
				s.latency = 100 * time.Millisecond // 32 at a time
				for i := range n / 2 {             // another owner has the second half
					grants[n/2+i].Owner += "x"
				}
			}
			start, results := time.Now(), [2]int{}
			for i, err := range driver.RenewAll(t.Context(), b, grants) {
				switch {
				case err == nil, silent == slow && i >= n/2 && errors.Is(err, driver.ErrLost):
					results[0]++
				case errors.Is(err, driver.ErrNotSent):
					results[1]++
				case i >= max(silent, 32):
					t.Errorf("%d silent: renewal %d: %v", silent, i, err)
				}
			}
			if d := time.Since(start); results[0] != renewed || silent != slow && d > 5*time.Second {
				t.Errorf("%d silent: %d renewed, %d not sent after %v", silent, results[0], results[1], d)
			}
		})
	}
}

// A holder loses its key when another program overwrites the cell. The key is free when that goes.
func TestRenewalOfAForeignValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		b := s.open("")
		g := testkit.MustTry(t, b, testkit.NewRequest("key"))
		s.cells["key"] = []byte("another program's")
		if err := driver.RenewAll(t.Context(), b, []driver.Grant{g})[0]; !errors.Is(err, driver.ErrLost) || !errors.Is(err, driver.ErrForeign) {
			t.Error(err)
		}
		delete(s.cells, "key")
		testkit.MustTry(t, b, testkit.NewRequest("key"))
	})
}

// A renewal sees that the holder was asked to give the key back. A holder that listens is told of
// that at once, and if its key was taken away.
func TestHolderIsTold(t *testing.T) {
	for abilities, what := range map[string]func(ctx context.Context, b driver.Backend, key string) (bool, error){
		"": func(ctx context.Context, b driver.Backend, key string) (bool, error) {
			return b.(driver.Revoker).Revoke(ctx, key)
		},
		"m": func(ctx context.Context, b driver.Backend, key string) (bool, error) {
			return b.(driver.Inspector).ForceRelease(ctx, key)
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t)
			holder, other := s.open(abilities), s.open(abilities)
			g, start := testkit.MustTry(t, holder, testkit.NewRequest("key")), time.Now()
			asked := holder.(driver.Revoker).Revoked(t.Context(), g)
			if held, err := what(t.Context(), other, "key"); !held || err != nil {
				t.Fatal(held, err)
			}
			if abilities == "" {
				testkit.MustRenew(t, holder, g)
			}
			if <-asked; time.Since(start) > 50*time.Millisecond {
				t.Errorf("it was told after %v", time.Since(start))
			}
		})
	}
}

// The release of a lease that has ended frees the key for processes that see it for the first time.
func TestReleaseOfAnEndedLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		holder, r := s.open(""), testkit.NewRequest("key")
		g := testkit.MustTry(t, holder, r)
		time.Sleep(r.TTL)
		testkit.MustRelease(t, holder, g)
		testkit.MustTry(t, s.open(""), testkit.NewRequest("key"))
	})
}
