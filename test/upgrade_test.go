package test

import (
	"context"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

func TestReentryOfModes(t *testing.T) {
	shared, exclusive := reading, writing
	three, five := distlock.Opts{Permits: 3}, distlock.Opts{Permits: 5}
	for name, c := range map[string]struct {
		outer, inner distlock.Opts
		upgrade      bool
	}{
		"exclusive in exclusive": {exclusive, exclusive, false},
		"shared in exclusive":    {exclusive, shared, false},
		"exclusive in shared":    {shared, exclusive, true},
		"permit in shared":       {shared, three, true},
		"one of more permits":    {three, five, false},
		"one of fewer permits":   {five, three, true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
				start := time.Now()
				outer := testkit.MustAcquire(t, l, "k", c.outer)
				inner, err := l.Acquire(outer.Context(), "k", c.inner)
				if c.upgrade {
					wantIs(t, err, distlock.ErrUpgrade)
				} else {
					wantIs(t, err)
					if inner.Token() != outer.Token() {
						t.Errorf("tokens %d and %d", outer.Token(), inner.Token())
					}
					// Below that, the mode that the store has granted counts.
					_, err := l.Acquire(inner.Context(), "k", c.outer)
					wantIs(t, err)
					wantIs(t, inner.Release(t.Context()))
				}
				wantTook(t, start, 0)
				wantCalls(t, s, testkit.Wait, 1)
				wantIs(t, outer.Check())
				wantIs(t, outer.Release(t.Context()))
				_, err = l.Acquire(context.WithoutCancel(outer.Context()), "k", c.inner)
				wantIs(t, err, distlock.ErrLost)
				nothingLeft(t, l, s)
			})
		})
	}
}
