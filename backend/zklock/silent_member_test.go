package zklock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/await"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// TestConnectionDiesSilently: nothing arrives on the connection any more, and nothing
// closes it. The first attempt succeeds over another one, within the time of one
// operation, and a lease of three seconds is kept. The names of the servers lead to one
// address.
func TestConnectionDiesSilently(t *testing.T) {
	for name, c := range map[string]struct{ age, alone time.Duration }{
		"renewals alone": {time.Minute, 10 * time.Second},
		"attempt":        {time.Minute, 0},
		"new connection": {0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *virtual) {
				locker := testkit.NewLocker(t, v, distlock.Config{})
				lease := testkit.MustAcquire(t, locker, "held", distlock.Opts{KeyTimeout: 3 * time.Second})
				time.Sleep(c.age)
				v.network.Cut()
				time.Sleep(c.alone)
				start := time.Now()
				testkit.MustRelease(t, v, testkit.MustTry(t, v, testkit.NewRequest("key")))
				if d := time.Since(start); d > 2*time.Second {
					t.Errorf("the first attempt took %v", d)
				}
				time.Sleep(10 * time.Second)
				if err := lease.Check(); err != nil {
					t.Errorf("the lease: %v", err)
				}
				if err := lease.Release(t.Context()); err != nil {
					t.Error(err)
				}
				v.server.On(opSync, func(string) fate { return dropped })
				v.server.On(opConnect, func(string) fate { t.Error("without the leader it connects to the same address"); return served })
				for range 5 {
					_ = v.Ping(t.Context())
				}
				v.server.ServeAll()
			}, zklock.Config{}.WithLookup(func(context.Context, string) ([]string, error) { return []string{"10.0.0.1"}, nil }))
		})
	}
}

// TestNothingSent: without a connection nothing is sent, and no ticket is left. After
// an attempt in doubt another one is not certain.
func TestNothingSent(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		doubt, r := testkit.NewRequest("first"), testkit.NewRequest("key")
		v.tryInDoubt(t, doubt, muted)
		v.network.Refuse(true)
		synctest.Wait()
		for name, attempt := range map[string]func(ctx context.Context, r driver.Request) (driver.Grant, error){
			"TryAcquire": v.TryAcquire, "Enqueue": v.Enqueue,
		} {
			ended, end := context.WithCancel(t.Context())
			end()
			for mode, ctx := range map[driver.Mode]context.Context{driver.Exclusive: t.Context(), driver.Shared: ended} {
				r.Mode = mode // a ticket that is left has another
				if _, err := attempt(ctx, r); !errors.Is(err, driver.ErrNotSent) {
					t.Errorf("%s without a connection: %v", name, err)
				}
			}
			if _, err := attempt(t.Context(), doubt); err == nil || errors.Is(err, driver.ErrNotSent) {
				t.Errorf("%s after a doubt: %v", name, err)
			}
		}
		v.network.Refuse(false)
		testkit.ReleaseRepeatedly(t, v, doubt.Grant())
		v.mustBeEmpty(t, "first")
	})
}

// TestMemberWithoutLeader: a server answers reads, and has lost the leader. Another
// server is asked after one operation. If none has the leader, connections are not opened
// more often than once in the time of two operations.
func TestMemberWithoutLeader(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		g := testkit.MustTry(t, v, testkit.NewRequest("key"))
		time.Sleep(5 * time.Second)
		v.server.On(opSync, func(string) fate { return dropped })
		v.server.On(opConnect, func(string) fate { v.server.ServeAll(); return served })
		if got := testkit.Renewed(t, v, g); !await.InDoubt(got) {
			t.Errorf("a renewal without the leader: %+v", got)
		}
		synctest.Wait() // until there is another connection
		testkit.MustRenew(t, v, g)

		conns, start := 0, time.Now()
		v.server.On(opSync, func(string) fate { return dropped })
		v.server.On(opConnect, func(string) fate { conns++; return served })
		for time.Since(start) < 20*time.Second {
			_ = v.Ping(t.Context())
		}
		if conns > 6 {
			t.Errorf("%d connections in 20 s", conns)
		}
	})
}
