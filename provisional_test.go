package distlock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/driver"
)

// shortAtFirst grants every key for 300 ms at first, although the lease is longer.
type shortAtFirst struct{ *memlock.Backend }

const atFirst = 300 * time.Millisecond

func (b shortAtFirst) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	ttl := r.TTL
	if r.Renews {
		r.TTL = atFirst
	}
	g, err := b.Backend.Acquire(ctx, r)
	if r.Renews {
		g.Until, g.TTL = g.Sent.Add(atFirst), ttl
	}
	return g, err
}

// A lease that is short at first is renewed before its end, and Until does not wait for
// that. A lease that is not renewed is never short.
func TestLeaseThatIsShortAtFirst(t *testing.T) {
	for name, c := range map[string]struct {
		opts  distlock.Opts
		pause time.Duration
		until time.Duration // at least, after the pause
	}{
		"at once":     {distlock.Opts{KeyTimeout: time.Minute}, 0, 59 * time.Second},
		"later":       {distlock.Opts{KeyTimeout: time.Minute}, 10 * time.Second, 40 * time.Second},
		"not renewed": {distlock.Opts{KeyTimeout: time.Minute, NoWatchdog: true}, 10 * time.Second, 49 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := distlock.New(shortAtFirst{memlock.New()}, distlock.Config{})
			defer closeLocker(t, l)
			s, err := l.Acquire(t.Context(), "k", c.opts)
			if err != nil {
				t.Fatal(name, err)
			}
			time.Sleep(c.pause)
			if left := time.Until(s.Until()); left < c.until {
				t.Errorf("%s: %v left, want at least %v", name, left, c.until)
			}
			if err := s.Release(t.Context()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}
