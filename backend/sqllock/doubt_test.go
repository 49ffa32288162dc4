package sqllock_test

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// The connection breaks, or the server ends it, when the statement that decides an attempt
// was sent. The attempt may still arrive, so the release of its owner leaves a tombstone. An
// attempt that did not get so far, or that was refused, leaves none.
func TestAttemptInDoubt(t *testing.T) {
	for name, c := range map[string]struct {
		permits int
		breaks  string // the statement that begins with this fails, or each at its end
		err     error
		doubt   bool
	}{
		"a statement":      {0, "UPDATE \"distlock\" AS l SET prior_token", io.ErrUnexpectedEOF, true},
		"a new key":        {0, "INSERT INTO \"distlock\" (", io.ErrUnexpectedEOF, true},
		"a server stops":   {0, "UPDATE \"distlock\" AS l SET prior_token", stateError("57P01"), true},
		"the disk is full": {0, "UPDATE \"distlock\" AS l SET prior_token", stateError("53100"), false},
		"no answer":        {0, "UPDATE \"distlock\" AS l SET prior_token", context.DeadlineExceeded, true},
		"not sent":         {0, "UPDATE \"distlock\" AS l SET prior_token", sqldriver.ErrBadConn, false},
		"its rows":         {0, "", io.ErrUnexpectedEOF, true},
		"a commit":         {2, "COMMIT", io.ErrUnexpectedEOF, true},
		"a transaction":    {2, "WITH l AS", io.ErrUnexpectedEOF, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{}
				b := s.open(t, 4)
				if err := b.Ping(t.Context()); err != nil {
					t.Fatal(err)
				}
				if c.breaks == "" {
					s.ends, c.breaks = c.err, "none"
				}
				s.before = func(_ int, query string) error {
					if strings.HasPrefix(query, c.breaks) {
						return c.err
					}
					return nil
				}
				r := request("key", time.Minute)
				r.Permits = c.permits
				_, err := b.TryAcquire(t.Context(), r)
				if !unknown(err) || errors.Is(err, driver.ErrNotSent) {
					t.Fatalf("an attempt without an answer: %v", err)
				}
				s.before, s.ends, s.owned = nil, nil, true // another attempt has succeeded; that one may still arrive
				testkit.MustRelease(t, b, r.Grant())
				if got := s.index("INSERT INTO \"distlock_member\"", r.Owner, "tombstone") >= 0; got != c.doubt {
					t.Errorf("the release leaves a tombstone: %v", got)
				}
			})
		})
	}
}

// There is no connection. An attempt says that nothing was sent, so that nothing is in
// doubt. A waiter does not: its place is in the table.
func TestNotSent(t *testing.T) {
	for name, refuse := range map[string]func(t *testing.T, s *script, db *sql.DB){
		"refused": func(_ *testing.T, s *script, db *sql.DB) {
			s.refused = syscall.ECONNREFUSED
			db.SetMaxIdleConns(-1)
		},
		"a server that starts": func(_ *testing.T, s *script, db *sql.DB) {
			s.refused = stateError("57P03")
			db.SetMaxIdleConns(-1)
		},
		"none is free": func(t *testing.T, _ *script, db *sql.DB) { t.Helper(); takeAll(t, db) },
	} {
		for _, checked := range []bool{true, false} {
			t.Run(fmt.Sprint(name, ", checked ", checked), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &script{}
					b, db := s.openWith(t, 3)
					if checked {
						if err := b.Ping(t.Context()); err != nil {
							t.Fatal(err)
						}
					}
					refuse(t, s, db)
					r := request("key", time.Minute)
					for what, try := range map[string]func(context.Context, driver.Request) (driver.Grant, error){
						"TryAcquire": b.TryAcquire, "Enqueue": b.Enqueue,
					} {
						if _, err := try(t.Context(), r); !errors.Is(err, driver.ErrNotSent) {
							t.Errorf("%s: %v", what, err)
						}
					}
					if checked && s.index(r.Owner) >= 0 {
						t.Error("something was sent")
					}
				})
			})
		}
	}
	synctest.Test(t, func(t *testing.T) {
		s := &script{holder: "other@host/1"}
		b, db := s.openWith(t, 3)
		if err := b.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.before = func(_ int, query string) error {
			if strings.Contains(query, "INSERT INTO \"distlock_member\"") {
				s.refused = syscall.ECONNREFUSED
				db.SetMaxIdleConns(-1)
			}
			return nil
		}
		if _, err := testkit.Await(t.Context(), b, request("key", time.Minute), testkit.Looks{}); !unknown(err) || errors.Is(err, driver.ErrNotSent) {
			t.Errorf("a waiter: %v", err)
		}
	})
}

// A release has no answer, and the next one finds nothing. That is not a loss, and not tried
// for longer than two operations last.
func TestReleaseInDoubt(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(s *script, n int) error // the n-th release
		most  time.Duration
		err   bool
	}{
		"broken once": {func(_ *script, n int) error { return map[int]error{1: io.ErrUnexpectedEOF}[n] }, time.Second, false},
		"always late": {func(*script, int) error { time.Sleep(1900 * time.Millisecond); return io.ErrUnexpectedEOF }, 4 * time.Second, true},
		"silent once": {func(s *script, n int) error { s.silent = max(s.silent, map[int]int{1: s.conns}[n]); return nil }, 3 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, n := &script{}, 0
				b := s.open(t, 4, sqllock.Config{OpTimeout: 2 * time.Second})
				g := request("key", time.Minute).Grant()
				g.Token, g.LastToken = 1, 1
				if err := b.Release(t.Context(), g); !errors.Is(err, driver.ErrLost) {
					t.Errorf("the release of a lease that was taken away: %v", err)
				}
				s.before = func(_ int, query string) error {
					if strings.Contains(query, "SET owner = ''") {
						n++
						return c.spoil(s, n)
					}
					return nil
				}
				start := time.Now()
				if err := b.Release(t.Context(), g); (err != nil) != c.err || c.err != unknown(err) || n == 0 || time.Since(start) > c.most {
					t.Errorf("%v after %d releases and %v", err, n, time.Since(start))
				}
				if s.before = nil; c.err {
					testkit.MustRelease(t, b, g)
				}
				if err := b.Release(t.Context(), g); !errors.Is(err, driver.ErrLost) {
					t.Errorf("a release after one that had an answer: %v", err)
				}
			})
		})
	}
}

// A transaction that fails is ended on its connection, which the next call has.
func TestFailedTransactionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		b := s.open(t, 4)
		if err := b.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
		r := request("key", time.Minute)
		r.Permits = 2
		left, fails := 0, "WITH l AS" // a connection with an open transaction
		s.before = func(conn int, query string) error {
			if conn == left {
				t.Errorf("%s is sent on a connection whose transaction could not be ended", query)
			}
			if query == "ROLLBACK" && fails == query {
				left = conn
			}
			if strings.HasPrefix(query, "WITH l AS") || query == fails {
				return stateError("53100")
			}
			return nil
		}
		for range 3 {
			if _, err := b.TryAcquire(t.Context(), r); !unknown(err) {
				t.Errorf("TryAcquire: %v", err)
			}
			begin := s.index("BEGIN", "idle_in_transaction_session_timeout = ") // for a process that is paused
			if begin < 0 || left == 0 && s.index("ROLLBACK") < begin {
				t.Error("the transaction is left open")
			}
			fails = "ROLLBACK"
		}
	})
}

// stateError is an error of PostgreSQL with that code.
type stateError string

func (s stateError) Error() string    { return "state " + string(s) }
func (s stateError) SQLState() string { return string(s) }

// A call meets a fault of the database: a statement is undone because of a deadlock, a
// conflict or a limit for the wait. Or the connections of a renewal break, the reserved one
// first.
//
// Row 32 (sqllock): the Backend repeats it, and its caller does not notice. Fails if
// one of the codes counts as an answer.
func TestCallIsRepeated(t *testing.T) {
	for fault, most := range map[error]int{
		stateError("40P01"): 3, stateError("40001"): 3, stateError("55P03"): 3, io.ErrUnexpectedEOF: 2,
	} {
		broken := fault == io.ErrUnexpectedEOF //nolint:errorlint // it is that very value
		for what, call := range firstCalls {
			if broken && what != "Renew" {
				continue // it has no answer
			}
			synctest.Test(t, func(t *testing.T) {
				s, times := &script{}, most
				b := s.open(t, 2)
				if err := b.Ping(t.Context()); err != nil {
					t.Fatal(err)
				}
				faults := make(map[int]int) // by connection
				s.before = func(conn int, query string) error {
					if times > 0 && query != "ROLLBACK" {
						times--
						faults[conn]++
						return fault
					}
					return nil
				}
				if err := call(t.Context(), b); err != nil || times != 0 {
					t.Errorf("%s, %v, %d times more: %v", what, fault, times, err)
				}
				if broken && len(faults) != 2 {
					t.Errorf("%v: on the connections %v", fault, faults)
				}
			})
		}
	}
}
