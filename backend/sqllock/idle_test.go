package sqllock_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// firstCalls are the calls of a Backend that its connections may fail. They return why
// there was no answer.
var firstCalls = map[string]func(ctx context.Context, b *sqllock.Backend) error{
	"TryAcquire": func(ctx context.Context, b *sqllock.Backend) error {
		if _, err := b.TryAcquire(ctx, request("key", time.Minute)); unknown(err) {
			return err
		}
		return nil
	},
	"Renew": func(ctx context.Context, b *sqllock.Backend) error {
		return driver.RenewAll(ctx, b, []driver.Grant{request("key", time.Minute).Grant()})[0]
	},
	"Release": func(ctx context.Context, b *sqllock.Backend) error {
		return b.Release(ctx, request("key", time.Minute).Grant())
	},
	"Inspect": func(ctx context.Context, b *sqllock.Backend) error {
		_, err := b.Inspect(ctx, "", 1)
		return err
	},
}

// All connections have died without a word, in a quiet time or at once. The first call
// of each kind works within the time for one operation, with drivers that ask idle
// connections and with others. Connections that are in use are not asked.
//
// Row 7 (sqllock): no lease of 3 s is lost, and no attempt fails. Fails if idle
// connections are tried one after the other, or the reserved one is not asked.
func TestIdleConnectionsDied(t *testing.T) {
	for what, call := range firstCalls {
		for i := range 8 {
			asks, limit, quiet := i&1 != 0, 5*(i&2), time.Minute*time.Duration(i/4)
			if quiet == 0 && what == "Release" {
				continue // it has no answer, and is repeated by its caller
			}
			t.Run(fmt.Sprint(what, " ", asks, " ", limit, " ", quiet), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s, most := &script{asks: asks}, 2*time.Second
					if quiet == 0 {
						most = time.Second // all were used since the time to wait for an answer began
					}
					b := s.open(t, limit, sqllock.Config{OpTimeout: most})
					s.idle(t, b, 8, quiet)
					if s.conns < 8 {
						t.Fatalf("%d connections", s.conns)
					}
					s.silent = s.conns
					times := func(what string, n int) {
						start := time.Now()
						for range n {
							if err := call(t.Context(), b); err != nil {
								t.Errorf("%s: %v", what, err)
							}
						}
						if d := time.Since(start); d > most {
							t.Errorf("%s: %v", what, d)
						}
					}
					times("the first call", 1)
					s.probes = 0
					times("the next ones", 20)
					probes := s.probes
					times("the ones after them", 20)
					if s.probes != probes {
						t.Errorf("%d connections in use are asked", s.probes-probes)
					}
				})
			})
		}
	}
}

// The application has all connections, and the reserved one is in use. Renewals of many leases
// do not wait for it one after the other.
func TestRenewalsWithoutAConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		b, db := s.openWith(t, 2, sqllock.Config{OpTimeout: 2 * time.Second})
		if err := b.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
		takeAll(t, db)
		s.before = func(int, string) error { time.Sleep(time.Minute); return nil }
		go firstCalls["Renew"](t.Context(), b)
		synctest.Wait()
		start, many := time.Now(), make([]driver.Grant, 200)
		for i := range many {
			many[i] = request(fmt.Sprint(i), time.Minute).Grant()
			many[i].Permits = i % 2 // these are in another table
		}
		if err := driver.RenewAll(t.Context(), b, many)[199]; !unknown(err) || time.Since(start) > 3*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

// Somebody keeps the row of one key locked. Only its renewal has no answer: the next ones
// are not in its statement.
func TestRowIsLocked(t *testing.T) {
	eachOf(t, servers, func(t *testing.T, of *store) {
		b, all := of.open(t, sqllock.Config{OpTimeout: 2 * time.Second}), make([]driver.Grant, 20)
		for i := range all {
			all[i] = testkit.MustTry(t, b, request(fmt.Sprint(i), time.Minute))
		}
		scan(t, begin(t, of.pool(t), 0), "SELECT owner FROM distlock WHERE lock_key = '7' FOR UPDATE")
		driver.RenewAll(t.Context(), b, all)
		for i, err := range driver.RenewAll(t.Context(), b, all) {
			if (err == nil) == (i == 7) || errors.Is(err, driver.ErrLost) {
				t.Errorf("the renewal %d: %v", i, err)
			}
		}
	})
}

// The server has closed all connections, and to connect takes longer than to wait for
// one that was idle.
func TestConnectionsClosed(t *testing.T) {
	for what, call := range firstCalls {
		synctest.Test(t, func(t *testing.T) {
			s := &script{}
			b := s.open(t, 10, sqllock.Config{OpTimeout: 2 * time.Second})
			s.idle(t, b, 8, time.Minute)
			s.gone, s.dials = s.conns, 400*time.Millisecond
			if err := call(t.Context(), b); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		})
	}
}

// The reserved connection goes back to the pool now and then, whose limits apply to it. The
// Backend looks some times in each retention for keys that are unused.
func TestReservedConnectionIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		b := s.open(t, 4, sqllock.Config{Retention: time.Minute})
		used, sweeps := make(map[int]bool), 0
		s.before = func(conn int, query string) error {
			if strings.Contains(query, "AS kept") {
				used[conn] = true
			} else if strings.Contains(query, "SET since = ") {
				sweeps++
			}
			return nil
		}
		for range 30 {
			time.Sleep(10 * time.Second)
			if got := testkit.Renewed(t, b, request("key", time.Minute).Grant()); got != nil {
				t.Errorf("Renew: %v", got)
			}
		}
		synctest.Wait()
		if len(used) < 2 || sweeps < 10 || sweeps > 40 {
			t.Errorf("all renewals have had %d connections, and there were %d sweeps", len(used), sweeps)
		}
	})
}

// The address leads to a new primary, and the old one says by each of the codes that
// nothing was done there. Each call works on a new connection, and no connection to the
// old one is left. Without a new primary, a call fails, and does not connect again and
// again.
//
// Row 5 (sqllock): acquisitions and renewals recover at once. Fails if a connection
// that answers is kept.
func TestFormerPrimary(t *testing.T) {
	for _, refusal := range []error{stateError("25006"), stateError("25P02"), io.ErrUnexpectedEOF} {
		for what, call := range firstCalls {
			if what == "Inspect" || what != "Renew" && !errors.As(refusal, new(stateError)) {
				continue // it only reads, or the outcome is open
			}
			t.Run(fmt.Sprint(what, " ", refusal), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &script{}
					b := s.open(t, 12)
					s.idle(t, b, 6, time.Minute)
					old := s.conns
					refused := 0
					s.before = func(conn int, query string) error {
						if conn <= old && (strings.HasPrefix(query, "UPDATE") || strings.HasPrefix(query, "INSERT")) {
							refused++
							return refusal
						}
						return nil
					}
					if err := call(t.Context(), b); err != nil {
						t.Errorf("with a new primary: %v", err)
					}
					before := refused
					for range 10 {
						if err := call(t.Context(), b); err != nil {
							t.Errorf("with a new primary, again: %v", err)
						}
					}
					if refused != before {
						t.Errorf("%d statements went to the old one later", refused-before)
					}
					old = 1 << 20
					conns := s.conns
					for range 10 {
						if err := call(t.Context(), b); err == nil {
							t.Error("without a primary it works")
						}
					}
					if n := s.conns - conns; n > 100 {
						t.Errorf("%d connections for ten calls", n)
					}
				})
			})
		}
	}
}

// The same with real servers: the address leads to the new primary from one moment to
// the next, and connections that are open stay with the old one, which is read-only.
// Nothing limits their time. A transaction of the application there is told why Guard
// fails.
//
// Row 5 (sqllock): acquisitions, renewals and listings recover at once. Fails if Guard
// calls a lease stale that only its server does not know.
func TestServerBecomesReadOnly(t *testing.T) {
	eachOwn(t, func(t *testing.T, of *store) {
		next := of.onServer(t, of.engine.Start(t))
		for _, s := range []*store{of, next} {
			for _, sql := range map[sqllock.Dialect][]string{
				sqllock.Postgres: {"CREATE ROLE shop LOGIN", "GRANT ALL ON ALL TABLES IN SCHEMA public TO shop"},
				sqllock.MySQL:    {"CREATE USER shop", "GRANT SELECT, INSERT, UPDATE, DELETE ON " + s.name + ".* TO shop"},
			}[of.dialect] {
				s.server.Exec(t, s.name, sql)
			}
		}
		user := *of
		user.dsn = strings.NewReplacer("root@", "shop@", "postgres@", "shop@").Replace(of.dsn)
		var moved atomic.Bool
		db := user.dialed(t, func(ctx context.Context, network, _ string) (net.Conn, error) {
			addr := of.server.Addr()
			if moved.Load() {
				addr = next.server.Addr()
			}
			return new(net.Dialer).DialContext(ctx, network, addr)
		})
		db.SetMaxOpenConns(8)
		db.SetMaxIdleConns(8)
		b := of.on(t, db)
		held := testkit.MustTry(t, b, request("held", time.Minute))
		tx := begin(t, db, 0)
		scan(t, tx, "SELECT token FROM distlock WHERE lock_key = 'held'")
		for _, c := range takeAll(t, db) { // all are used, and lead to the old one
			spoil(t, c, "SELECT 1")
		}

		moved.Store(true)
		if of.dialect == sqllock.MySQL {
			of.server.Exec(t, of.name, "SET GLOBAL read_only = ON")
		} else {
			of.server.Exec(t, of.name, "ALTER SYSTEM SET default_transaction_read_only = on")
			of.server.Exec(t, of.name, "SELECT pg_reload_conf()")
			testkit.Eventually(t, "the sessions know", func() bool {
				return scan(t, tx, "SHOW default_transaction_read_only") == "on"
			})
		}
		if infos, err := b.Inspect(t.Context(), "", 10); err != nil || len(infos) != 0 {
			t.Errorf("Inspect: %+v, %v; the new primary has no lock", infos, err)
		}
		if got := testkit.Renewed(t, b, held); !errors.Is(got, driver.ErrLost) {
			t.Errorf("the renewal of a lock that the new primary does not have: %v", got)
		}
		g := testkit.MustTry(t, b, request("key", time.Minute))
		if got := testkit.Renewed(t, b, g); got != nil {
			t.Errorf("a renewal: %v", got)
		}
		if of.dialect == sqllock.MySQL { // in PostgreSQL a transaction that has begun may write
			err := b.Guard(t.Context(), tx, granted{g})
			fails(t, "Guard in a transaction of the old one", err, "read-only", "primary")
			if errors.Is(err, sqllock.ErrStale) {
				t.Errorf("Guard: %v", err)
			}
		}
		testkit.MustRelease(t, b, g)
	})
}

// What the codes of an error say about its connection, and about what was done.
func TestCodes(t *testing.T) {
	for text, want := range map[string]string{
		"Error 1290 (HY000): --read-only": "useless", "Error 1792 (25006): READ ONLY": "useless", "Error 1836 (HY000): read-only": "useless",
		"Error 1053 (08S01): shutdown": "ended", "Error 1927 (70100): killed": "ended",
		"Error 1213 (40001): deadlock": "undone", "Error 1205 (HY000): wait": "undone", "SQLITE_BUSY": "undone",
		"Error 1062 (23000): duplicate": "",
	} {
		if got := sqllock.Says(errors.New(text)); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	for state, want := range map[stateError]string{
		"25006": "useless", "25P02": "useless", "57P01": "ended", "57P02": "ended", "08006": "ended", "40001": "undone", "40P01": "undone", "55P03": "undone", "23505": "",
	} {
		if got := sqllock.Says(state); got != want {
			t.Errorf("%s: %q, want %q", state, got, want)
		}
	}
}
