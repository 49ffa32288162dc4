package main

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/internal/testkit"
)

// TestCommitBeforeRelease reads the database over another connection at the moment of
// the release.
func TestCommitBeforeRelease(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db string) {
		s, other := openTestStore(t, db), openTestStore(t, db)
		var seen []item
		locks := testkit.NewStore()
		locks.Before(func(_ context.Context, c *testkit.Call) error {
			if c.Op != testkit.Release {
				return nil
			}
			it, err := other.item(context.WithoutCancel(t.Context()), "tea")
			if err != nil || c.Key != keyOf(t, "tea") {
				t.Error(c.Key, err)
			}
			seen = append(seen, it)
			return nil
		})
		sh := newShop(testkit.NewLocker(t, locks, distlock.Config{}), itemLock(config{}), s, &ledger{}, thinkFor(0))
		if _, err := sh.reset(t.Context(), stockRequest{"tea", 3}); err != nil {
			t.Fatal(err)
		}
		if _, err := sh.place(t.Context(), orderRequest{"tea", "u1", 2}); err != nil {
			t.Fatal(err)
		}
		if _, err := sh.place(t.Context(), orderRequest{"tea", "u2", 2}); !errors.Is(err, errSoldOut) {
			t.Fatal(err)
		}
		want := []item{{"tea", 3, 0}, {"tea", 1, 2}, {"tea", 1, 2}}
		if len(seen) != len(want) || seen[0] != want[0] || seen[1] != want[1] || seen[2] != want[2] {
			t.Errorf("at the releases the database said %v, want %v", seen, want)
		}
	})
}

// TestLockIsHeldWhileCommitting lets another writer lock the item while an order is
// thinking, so that the order cannot commit, and checks the lock meanwhile.
func TestLockIsHeldWhileCommitting(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db string) {
		s, other := openTestStore(t, db), openTestStore(t, db)
		l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
		blocked := make(chan *sql.Tx, 1)
		sh := newShop(l, itemLock(config{}), s, &ledger{}, func(context.Context) error {
			tx, err := other.write.BeginTx(t.Context(), nil)
			if err == nil {
				_, err = tx.ExecContext(t.Context(), `UPDATE items SET stock = stock WHERE sku = 'tea'`) // locks the row
				blocked <- tx
			}
			return err
		})
		if _, err := sh.reset(t.Context(), stockRequest{"tea", 3}); err != nil {
			t.Fatal(err)
		}
		ordered := make(chan error, 1)
		go func() {
			_, err := sh.place(t.Context(), orderRequest{"tea", "u1", 1})
			ordered <- err
		}()
		tx := <-blocked
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for end := time.Now().Add(200 * time.Millisecond); time.Now().Before(end); <-tick.C {
			if lease, err := l.TryAcquire(t.Context(), keyOf(t, "tea"), distlock.Opts{}); err == nil {
				t.Fatal("the lock is free before the commit: ", lease.Release(t.Context()))
			} else if !errors.Is(err, distlock.ErrNotAcquired) {
				t.Fatal(err)
			}
			if it, err := s.item(t.Context(), "tea"); err != nil || it.Sold != 0 {
				t.Fatal(it, err)
			}
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		if err := <-ordered; err != nil {
			t.Fatal(err)
		}
		if it, err := s.item(t.Context(), "tea"); err != nil || it.Sold != 1 {
			t.Error(it, err)
		}
		lease, err := l.TryAcquire(t.Context(), keyOf(t, "tea"), distlock.Opts{})
		if err != nil {
			t.Fatal(err)
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestLostLockWritesNothing has holders that continue after their lease has ended, with
// and without knowing that.
func TestLostLockWritesNothing(t *testing.T) {
	for _, c := range []struct {
		name string
		over func(*store, *distlock.Lease) error
		want error
	}{
		{"overtaken", func(s *store, lease *distlock.Lease) error {
			return s.claim(context.Background(), "tea", lease.Token()+1)
		}, errFenced},
		{"released", func(_ *store, lease *distlock.Lease) error {
			return lease.Release(context.Background())
		}, distlock.ErrLost},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachDatabase(t, func(t *testing.T, db string) {
				s := openTestStore(t, db)
				l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
				sh := newShop(l, itemLock(config{}), s, &ledger{}, thinkFor(0))
				if _, err := sh.reset(t.Context(), stockRequest{"tea", 3}); err != nil {
					t.Fatal(err)
				}
				lease, err := l.Acquire(t.Context(), keyOf(t, "tea"), distlock.Opts{})
				if err != nil {
					t.Fatal(err)
				}
				if err := s.claim(t.Context(), "tea", lease.Token()); err != nil {
					t.Fatal(err)
				}
				if err := c.over(s, lease); err != nil {
					t.Fatal(err)
				}
				_, err = s.sell(t.Context(), sale{orderRequest{"tea", "u1", 1}, 2, lease})
				if !errors.Is(err, c.want) || !errors.Is(err, distlock.ErrLost) {
					t.Errorf("sell: %v", err)
				}
				err = s.reset(t.Context(), stockRequest{"tea", 99}, lease)
				if !errors.Is(err, c.want) || !errors.Is(err, distlock.ErrLost) {
					t.Errorf("reset: %v", err)
				}
				if it, err := s.item(t.Context(), "tea"); err != nil || it != (item{"tea", 3, 0}) {
					t.Error(it, err)
				}
				_ = lease.Release(t.Context()) // a second time, in one case
			})
		})
	}
}

// TestTakenOverWhileThinking deletes the key of an order that is thinking. Another
// process gets the lock, and the first order fails and has sold nothing. It thinks for
// longer than the other order takes, on a busy machine too; the next renewal ends it.
func TestTakenOverWhileThinking(t *testing.T) {
	redis := newStore(t)
	db := filepath.Join(t.TempDir(), "shop.db")
	slow := newClient(t, startService(t, "-backend", redis.url, "-db", db, "-think", "1m").addresses)
	quick := newClient(t, startService(t, "-backend", redis.url, "-db", db, "-think", "0").addresses)
	quick.set(t, "tea", 10)

	answers := make(chan answer, 1)
	go func() {
		a, err := slow.do(t.Context(), "POST", "/items/tea/orders", `{"buyer":"slow","quantity":1}`)
		if err != nil {
			t.Error(err)
		}
		answers <- a
	}()
	testkit.Eventually(t, "the slow order holds the lock", func() bool { return redis.held(t, "tea") })
	if n, err := redis.client.Del(t.Context(), keyOf(t, "tea")).Result(); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if r := quick.orderGRPC(t.Context(), true, "tea"); r.err != nil || r.Remaining != 9 {
		t.Errorf("%+v", r)
	}
	a := <-answers
	if p := a.problem(t); a.status != 503 || p.Type != "https://pkg.go.dev/github.com/distlock-go/distlock/httpmw#TypeLost" {
		t.Errorf("the slow order: %d %s", a.status, a.body)
	}
	if it := quick.item(t, "tea"); it.Stock != 9 || it.Sold != 1 {
		t.Errorf("%+v", it)
	}
}
