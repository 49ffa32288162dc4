package sqllock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// TestPartition: the network between a holder and the database loses everything for
// longer than the lease. Another process, which reaches the database, waits for the key.
//
// Row 7 (sqllock): the holder is told before the other has the key, and its release does
// not touch the lock of the next. Fails if a lease is extended by a renewal without an
// answer.
func TestPartition(t *testing.T) {
	testmode.Long(t)
	eachShared(t, func(t *testing.T, of *store) {
		b, n := of.over(t, time.Second)
		l := distlock.New(b, distlock.Config{})
		t.Cleanup(func() { _ = l.Close() })
		opts := distlock.Opts{KeyTimeout: 3 * time.Second, RetryInterval: 20 * time.Millisecond}
		lease := testkit.MustAcquire(t, l, "key", opts)
		next := testkit.StartAcquire(t, of.locker(t), "key", distlock.Opts{KeyTimeout: time.Minute, RetryInterval: 20 * time.Millisecond})
		n.Hang(true)
		s := next.Served(t)
		if lease.Check() == nil {
			t.Error("two holders")
		}
		if err := context.Cause(lease.Context()); !errors.Is(err, driver.ErrLost) {
			t.Errorf("the holder is told %v", err)
		}
		if s.Token() <= lease.Token() {
			t.Errorf("token %d after %d", s.Token(), lease.Token())
		}
		n.Hang(false)
		n.CloseCut()
		if err := lease.Release(t.Context()); !errors.Is(err, driver.ErrLost) {
			t.Errorf("release by the former holder: %v", err)
		}
		if err := s.Refresh(t.Context()); err != nil {
			t.Errorf("the next holder: %v", err)
		}
		if err := s.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestCutInTransaction: the network is cut when a Backend has locked the row of a key
// and the rest of its transaction is on its way. A process that is paused at that moment
// looks the same.
//
// Row 7 (sqllock): the database ends the transaction, and another owner gets the key.
// Fails if a transaction may be idle for any time.
func TestCutInTransaction(t *testing.T) {
	eachShared(t, func(t *testing.T, of *store) {
		b, n := of.over(t, 300*time.Millisecond)
		peer := of.open(t)
		testkit.MustRelease(t, peer, testkit.MustTry(t, peer, request("key", time.Minute)))
		r := request("key", time.Minute)
		r.Mode = driver.Shared
		testkit.Eventually(t, "the first check", func() bool { return b.Ping(t.Context()) == nil })
		testkit.Eventually(t, "it is cut in a transaction", func() bool {
			n.HoldAt(func(p []byte) bool { return isCommit(strings.ToUpper(string(p))) })
			if _, err := b.TryAcquire(t.Context(), r); !unknown(err) {
				t.Fatalf("TryAcquire without an answer: %v", err)
			}
			return n.Held() > 0
		})
		g := testkit.MustTry(t, peer, request("key", time.Minute))
		_ = n.Deliver() // the server may have closed the connection
		if got := testkit.Renewed(t, peer, g); got.Status != driver.Renewed {
			t.Errorf("the lock after the end of the transaction has arrived: %v", got)
		}
		testkit.MustRelease(t, peer, g)
	})
}

// isCommit reports whether a message to a server, in upper case, ends a transaction.
func isCommit(text string) bool {
	return strings.Contains(text, "COMMIT") && !strings.Contains(text, "READ COMMITTED") && !strings.Contains(text, "AUTOCOMMIT")
}
