package proof_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// Each of four processes has 2,500 waiters for one key, and ten more than its limit
// allows.
//
// Row 20 (redislock): every waiter is served or refused, a waiter costs a few
// kilobytes, and an acquisition less than one script. Fails if keys are not passed on
// inside a process.
func TestTenThousandWaiters(t *testing.T) {
	eachStore(t, func(t *testing.T, s *store) {
		const processes, waiters, lease = 4, 2500, 10 * time.Second
		// A waiter should be small: a goroutine with a stack of a few kilobytes.
		const most = 32 << 10
		admin, ctx := s.admins[0], context.Background()
		r := testkit.NewNetRegister(t)
		held := testkit.MustAcquire(t, s.locker(t), key, distlock.Opts{KeyTimeout: time.Minute})
		if !r.Use(testkit.Use{Key: key, Token: held.Token()}) {
			t.Fatal("the register refused the first")
		}
		var crowd []*testkit.Process
		for range processes {
			crowd = append(crowd, testkit.StartChild(t, roleCrowd, order{Store: s.address, Lease: lease, Register: r.Addr(), Waiters: waiters}))
		}
		for _, p := range crowd {
			var each int64
			p.Hear("waiting", &each)
			if t.Logf("%d bytes for each waiter", each); each > most {
				t.Errorf("%d bytes for each waiter", each)
			}
		}
		queue := "{" + key + "}:queue"
		testkit.Eventually(t, "all processes are in line", func() bool { return admin.ZCard(ctx, queue).Val() == processes })
		used := admin.MemoryUsage(ctx, queue).Val()

		if err := admin.ConfigResetStat(ctx).Err(); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		mustRelease(t, held)
		for _, p := range crowd {
			var served, refused, wrong, goroutines, bytes int64
			p.Hear("served", &served, &refused, &wrong, &goroutines, &bytes)
			if served != waiters || refused != tooMany || wrong != 0 {
				t.Errorf("%d served, %d refused, %d failed", served, refused, wrong)
			}
			if goroutines > 20 || bytes > waiters*most/4 {
				t.Errorf("%d goroutines and %d bytes are left of it", goroutines, bytes)
			}
			p.CloseInput()
			if code := p.Wait(); code != 0 {
				t.Errorf("the child ended with %d", code)
			}
		}
		writes, last := 0, uint64(0)
		for _, u := range r.Log() {
			if !u.Accepted || !u.Reads && u.Token <= last {
				t.Errorf("after token %d: %+v", last, u)
			}
			if !u.Reads {
				writes, last = writes+1, u.Token
			}
		}
		if writes != processes*waiters+1 {
			t.Errorf("%d writes", writes)
		}
		// However many callers wait, the server sees one waiter of each process.
		calls := scriptCalls(t, s)
		t.Logf("%d served in %v by %d scripts, the queue took %d bytes", writes, time.Since(begun), calls, used)
		if calls > processes*waiters || used > 4<<10 {
			t.Errorf("%d scripts for %d acquisitions, a queue of %d bytes", calls, processes*waiters, used)
		}
		s.mustBeEmpty(t)
	}, "redislock")
}

// scriptCalls returns how many scripts the server has run.
func scriptCalls(tb testing.TB, s *store) (calls int) {
	tb.Helper()
	info := s.admins[0].InfoMap(context.Background(), "commandstats").Item("Commandstats", "cmdstat_evalsha")
	if _, err := fmt.Sscanf(info, "calls=%d,", &calls); err != nil {
		tb.Fatalf("%q: %v", info, err)
	}
	return calls
}
