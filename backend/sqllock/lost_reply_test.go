package sqllock_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// The replies are lost after the database has done what was asked.
//
// Row 8 (sqllock): the same owner gets the key again, a renewal without an answer is not a
// loss, and a release can be repeated. Fails if the row of an owner refuses that owner.
func TestLostReply(t *testing.T) {
	eachShared(t, func(t *testing.T, of *store) {
		b, n := of.over(t, 300*time.Millisecond)
		peer := of.open(t)
		for _, own := range []driver.Request{request("exclusive", time.Minute), request("shared", time.Minute), request("permits", time.Minute)} {
			switch own.Key {
			case "shared":
				own.Mode = driver.Shared
			case "permits":
				own.Permits = 1
			}
			// lose calls op until the database has done it and the reply was lost: that to a
			// single statement, or to the end of a transaction.
			lose := func(what string, op func() error, done func() bool) {
				t.Helper()
				rounds := 0
				testkit.Eventually(t, what, func() bool {
					rounds++
					statement := rounds%2 == 1 // a connection that is being closed still has the last round's
					var lost atomic.Bool
					n.DeafenAt(func(p []byte) bool {
						text := strings.ToUpper(string(p))
						lost.Store(statement && strings.Contains(text, strings.ToUpper(own.Owner)) || !statement && isCommit(text))
						return lost.Load()
					})
					err := op()
					if lost.Load() && !unknown(err) && (what == "Release" || err != nil) { // another connection may answer the others
						t.Errorf("%s of %s without a reply: %v", what, own.Key, err)
					}
					n.Kill()
					return lost.Load() && done()
				})
				n.DeafenAt(nil)
			}
			holders := func() int {
				infos, err := peer.Inspect(t.Context(), own.Key, 1)
				if err != nil {
					t.Fatal(err)
				}
				for _, info := range infos {
					return len(info.Holders)
				}
				return 0
			}

			lose("TryAcquire", func() error {
				_, err := b.TryAcquire(t.Context(), own)
				return err
			}, func() bool { return holders() == 1 })
			var g driver.Grant
			testkit.Eventually(t, "it has the key", func() bool {
				var err error
				if g, err = b.TryAcquire(t.Context(), own); err != nil && !unknown(err) {
					t.Fatalf("%s: TryAcquire again: %v", own.Key, err)
				}
				return err == nil
			})
			lose("Renew", func() error { return testkit.Renewed(t, b, g).Err }, func() bool { return true })
			testkit.Eventually(t, "it is renewed", func() bool {
				got := testkit.Renewed(t, b, g)
				if got.Status == driver.Lost {
					t.Fatalf("%s: renewed again: %v", own.Key, got)
				}
				return got.Status == driver.Renewed
			})
			lose("Release", func() error { return b.Release(t.Context(), g) }, func() bool { return holders() == 0 })
			testkit.Eventually(t, "the release is answered", func() bool {
				err := b.Release(t.Context(), g)
				if err != nil && !unknown(err) {
					t.Fatalf("%s: released again: %v", own.Key, err)
				}
				return err == nil
			})
			next := testkit.MustTry(t, peer, request(own.Key, time.Minute))
			if next.Token <= g.LastToken {
				t.Errorf("%s: token %d after %d", own.Key, next.Token, g.LastToken)
			}
			testkit.MustRelease(t, peer, next)
		}
	})
}
