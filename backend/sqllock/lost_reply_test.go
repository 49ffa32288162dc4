package sqllock_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/spoilnet"
	"github.com/distlock-go/distlock/internal/testmode"
)

// over returns a Backend that reaches the database over a network with faults.
func (of *store) over(t *testing.T, timeout time.Duration) (*sqllock.Backend, *spoilnet.Network) {
	t.Helper()
	n := new(spoilnet.Network)
	var db *sql.DB
	if of.dialect == sqllock.Postgres {
		config, err := pgx.ParseConfig(of.dsn)
		if err != nil {
			t.Fatal(err)
		}
		config.DialFunc = n.DialContext
		db = stdlib.OpenDB(*config)
	} else {
		config, err := mysql.ParseDSN(of.dsn)
		if err != nil {
			t.Fatal(err)
		}
		config.DialFunc = n.DialContext
		connector, err := mysql.NewConnector(config)
		if err != nil {
			t.Fatal(err)
		}
		db = sql.OpenDB(connector)
	}
	b, err := sqllock.New(db, of.dialect, sqllock.WithOpTimeout(timeout))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		n.Kill()
		_ = db.Close() // there may be connections that are cut
	})
	return b, n
}

// TestRow08LostReply: the replies to an acquisition, a renewal and a release are lost,
// after the database has done what was asked.
//
// Row 8 (sqllock): the same owner gets the key again, a renewal without an answer is not a
// loss, and a release can be repeated. Fails if the row of an owner refuses that owner.
func TestRow08LostReply(t *testing.T) {
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
				statement := false
				eventually(t, what, func() bool {
					statement = !statement
					var lost atomic.Bool
					n.DeafenAt(func(p []byte) bool {
						text := strings.ToUpper(string(p))
						lost.Store(statement && strings.Contains(text, strings.ToUpper(own.Owner)) || !statement && isCommit(text))
						return lost.Load()
					})
					err := op()
					if lost.Load() && !unknown(err) {
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
			eventually(t, "it has the key", func() bool {
				var err error
				if g, err = b.TryAcquire(t.Context(), own); err != nil && !unknown(err) {
					t.Fatalf("%s: TryAcquire again: %v", own.Key, err)
				}
				return err == nil
			})
			lose("Renew", func() error { return renewed(t, b, g).Err }, func() bool { return true })
			eventually(t, "it is renewed", func() bool {
				got := renewed(t, b, g)
				if got.Status == driver.Lost {
					t.Fatalf("%s: renewed again: %v", own.Key, got)
				}
				return got.Status == driver.Renewed
			})
			lose("Release", func() error { return b.Release(t.Context(), g) }, func() bool { return holders() == 0 })
			eventually(t, "the release is answered", func() bool {
				err := b.Release(t.Context(), g)
				if err != nil && !unknown(err) {
					t.Fatalf("%s: released again: %v", own.Key, err)
				}
				return err == nil
			})
			next := acquire(t, peer, request(own.Key, time.Minute))
			if next.Token <= g.LastToken {
				t.Errorf("%s: token %d after %d", own.Key, next.Token, g.LastToken)
			}
			release(t, peer, next)
		}
	})
}

// TestRow07Partition: the network between a holder and the database loses everything for
// longer than the lease. Another process, which reaches the database, waits for the key.
//
// Row 7 (sqllock): the holder is told before the other has the key, and its release does
// not touch the lock of the next. Fails if a lease is extended by a renewal without an
// answer.
func TestRow07Partition(t *testing.T) {
	testmode.Long(t)
	eachShared(t, func(t *testing.T, of *store) {
		b, n := of.over(t, time.Second)
		l := distlock.New(b, distlock.Config{})
		t.Cleanup(func() { _ = l.Close() })
		opts := distlock.Opts{KeyTimeout: 3 * time.Second, RetryInterval: 20 * time.Millisecond}
		lease := lock(t, l, "key", opts)
		next := startWaiter(t, of.locker(t), "key", distlock.Opts{KeyTimeout: time.Minute, RetryInterval: 20 * time.Millisecond})
		n.Hang(true)
		s := next.served(t)
		if lease.Valid() {
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

// TestRow07CutInTransaction: the network is cut when a Backend has locked the row of a key
// and the rest of its transaction is on its way. A process that is paused at that moment
// looks the same.
//
// Row 7 (sqllock): the database ends the transaction, and another owner gets the key.
// Fails if a transaction may be idle for any time.
func TestRow07CutInTransaction(t *testing.T) {
	eachShared(t, func(t *testing.T, of *store) {
		b, n := of.over(t, 300*time.Millisecond)
		peer := of.open(t)
		release(t, peer, acquire(t, peer, request("key", time.Minute)))
		r := request("key", time.Minute)
		r.Mode = driver.Shared
		eventually(t, "it is cut in a transaction", func() bool {
			n.HoldAt(func(p []byte) bool { return isCommit(strings.ToUpper(string(p))) })
			if _, err := b.TryAcquire(t.Context(), r); !unknown(err) {
				t.Fatalf("TryAcquire without an answer: %v", err)
			}
			return n.Held() > 0
		})
		g := acquire(t, peer, request("key", time.Minute))
		_ = n.Deliver() // the server may have closed the connection
		if got := renewed(t, peer, g); got.Status != driver.Renewed {
			t.Errorf("the lock after the end of the transaction has arrived: %v", got)
		}
		release(t, peer, g)
	})
}

// isCommit reports whether a message to a server, in upper case, ends a transaction.
func isCommit(text string) bool {
	return strings.Contains(text, "COMMIT") && !strings.Contains(text, "READ COMMITTED")
}
