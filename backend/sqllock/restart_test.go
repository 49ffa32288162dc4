package sqllock_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// TestRestart: the server ends in an orderly way, or is killed, and starts again with
// its data, while a lock is held and three processes wait for it.
//
// Row 30 (sqllock): holders keep their locks, waiters their places, and tokens rise.
// Fails if a renewal without an answer counts as Lost, or if a waiter that asks again
// gets a new place.
func TestRestart(t *testing.T) {
	eachOwn(t, func(t *testing.T, of *store) {
		for name, end := range map[string]func(){
			"restarted": func() { of.server.Shutdown(t) },
			"killed":    of.server.Kill,
		} {
			opts := distlock.Opts{KeyTimeout: time.Minute, RetryInterval: 100 * time.Millisecond}
			admin := of.open(t, sqllock.Config{OpTimeout: 2 * time.Second})
			lease := testkit.MustAcquire(t, of.locker(t), name, opts)
			var line []*testkit.Waiting[*distlock.Lease]
			for i := range 3 {
				line = append(line, testkit.StartAcquire(t, of.locker(t), name, opts))
				testkit.Eventually(t, "it waits", func() bool { return waiting(t, admin, name) == i+1 })
			}
			end()
			if err := admin.Ping(t.Context()); err == nil {
				t.Errorf("%s: a server that has ended answers", name)
			}
			of.server.Restart(t)
			started := time.Now().UnixMicro() // by the clock of the server, too
			testkit.Eventually(t, "the lock is renewed", func() bool { return lease.Refresh(t.Context()) == nil })
			testkit.Eventually(t, "all have asked again", func() bool {
				return of.server.Exec(t, of.name, fmt.Sprintf("SELECT count(*) FROM distlock_member WHERE expires > %d", started)) == "3"
			})
			for _, w := range line {
				w.MustWait(t)
			}
			for i, w := range line {
				if err := lease.Check(); err != nil {
					t.Errorf("%s: the holder before number %d: %v", name, i, err)
				}
				if err := lease.Release(t.Context()); err != nil {
					t.Errorf("%s: release before number %d: %v", name, i, err)
				}
				next := w.Served(t)
				if next.Token() <= lease.Token() {
					t.Errorf("%s: token %d after %d", name, next.Token(), lease.Token())
				}
				lease = next
			}
			if err := lease.Release(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestCrashAfterRelease: the server is killed right after a release, which PostgreSQL
// has not written to the disk, and right after an acquisition, which every server has.
//
// Row 30 (sqllock): a release that is lost costs the next owner the rest of the lease,
// no lock is lost, and tokens rise. Fails if an acquisition does not wait for its
// commit.
func TestCrashAfterRelease(t *testing.T) {
	eachOwn(t, func(t *testing.T, of *store) {
		b := of.open(t, sqllock.Config{OpTimeout: 2 * time.Second})
		ahead := request("released", 5*time.Second)
		// Both keys have a row. The next token is of the row, not of the clock.
		ahead.Tokens = int(time.Hour.Microseconds())
		for _, r := range []driver.Request{ahead, request("held", time.Minute)} {
			testkit.MustRelease(t, b, testkit.MustTry(t, b, r))
		}
		g := testkit.MustTry(t, b, ahead)
		held := testkit.MustTry(t, b, request("held", time.Minute))
		testkit.MustRelease(t, b, g)
		of.server.Kill()
		of.server.Restart(t)

		if got := testkit.Renewed(t, of.open(t), held); got != nil {
			t.Errorf("the lock that was held: %+v", got)
		}
		var next driver.Grant
		testkit.Eventually(t, "the released key has its next owner", func() (ok bool) {
			var err error
			next, err = b.TryAcquire(t.Context(), request("released", time.Minute))
			return err == nil
		})
		if next.Token <= g.LastToken {
			t.Errorf("token %d after %d", next.Token, g.LastToken)
		}
	})
}
