package sqllock_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// All connections have died without a word in a quiet time. The first call of each kind
// works within the time for one operation, with drivers that ask idle connections and with
// others. Connections that are in use are not asked.
//
// Row 12 (sqllock): no lease of 3 s is lost, and no attempt fails. Fails if idle connections
// are tried one after the other, or the reserved one is not asked.
func TestIdleConnectionsDied(t *testing.T) {
	for _, asks := range []bool{true, false} {
		for what, call := range map[string]func(t *testing.T, b *sqllock.Backend) error{
			"TryAcquire": func(t *testing.T, b *sqllock.Backend) error {
				_, err := b.TryAcquire(t.Context(), request("key", time.Minute))
				if unknown(err) {
					return err
				}
				return nil
			},
			"Renew": func(t *testing.T, b *sqllock.Backend) error {
				return testkit.Renewed(t, b, request("key", time.Minute).Grant()).Err
			},
			"Release": func(t *testing.T, b *sqllock.Backend) error {
				return b.Release(t.Context(), request("key", time.Minute).Grant())
			},
			"Inspect": func(t *testing.T, b *sqllock.Backend) error { _, err := b.Inspect(t.Context(), "", 1); return err },
		} {
			for _, limit := range []int{10, 0} {
				t.Run(fmt.Sprint(what, " ", asks, " ", limit), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						s := &script{asks: asks}
						b := s.open(t, limit, sqllock.WithOpTimeout(sqllock.DefaultOpTimeout))
						s.idle(t, b, 8)
						conns := s.conns
						if conns < 8 {
							t.Fatalf("%d connections", conns)
						}
						s.silent = conns
						start := time.Now()
						if err := call(t, b); err != nil {
							t.Errorf("after a quiet time: %v", err)
						}
						if d := time.Since(start); d > sqllock.DefaultOpTimeout {
							t.Errorf("it takes %v", d)
						}
						start, s.probes = time.Now(), 0
						for range 20 {
							if err := call(t, b); err != nil {
								t.Error(err)
							}
						}
						if d := time.Since(start); d > sqllock.DefaultOpTimeout {
							t.Errorf("the next ones take %v", d)
						}
						probes := s.probes
						for range 20 {
							if err := call(t, b); err != nil {
								t.Error(err)
							}
						}
						if s.probes != probes {
							t.Errorf("%d connections in use are asked", s.probes-probes)
						}
					})
				})
			}
		}
	}
}

// The connection of a renewal is silent from one moment to the next. There is time left for
// another one.
func TestRenewalOnSilentConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		b := s.open(t, 4, sqllock.WithOpTimeout(sqllock.DefaultOpTimeout))
		g := request("key", time.Minute).Grant()
		for range 2 {
			if got := testkit.Renewed(t, b, g); got.Status != driver.Renewed {
				t.Errorf("Renew: %v, %v", got.Status, got.Err)
			}
			s.silent = s.conns
		}
	})
}

// The reserved connection goes back to the pool now and then, whose limits apply to it.
func TestReservedConnectionIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		b := s.open(t, 4)
		used := make(map[int]bool)
		s.before = func(conn int, query string) error {
			if strings.Contains(query, "FROM (VALUES") {
				used[conn] = true
			}
			return nil
		}
		for range 30 {
			if got := testkit.Renewed(t, b, request("key", time.Minute).Grant()); got.Status != driver.Renewed {
				t.Errorf("Renew: %v, %v", got.Status, got.Err)
			}
			time.Sleep(10 * time.Second)
		}
		if len(used) < 2 {
			t.Errorf("all renewals have had %d connection", len(used))
		}
	})
}

// The address leads to a new primary, and the old one says by each of the codes that nothing was
// done there. Each call works on a new connection, and no connection to the old one is left.
// Without a new primary, a call fails, and does not connect again and again.
//
// Row 11 (sqllock): acquisitions and renewals recover at once. Fails if a connection that
// answers is kept.
func TestFormerPrimary(t *testing.T) {
	for _, refusal := range []error{stateError("25006"), stateError("25P02"), io.ErrUnexpectedEOF} {
		for what, call := range map[string]func(t *testing.T, b *sqllock.Backend) error{
			"TryAcquire": func(t *testing.T, b *sqllock.Backend) error {
				_, err := b.TryAcquire(t.Context(), request("key", time.Minute))
				if unknown(err) {
					return err
				}
				return nil
			},
			"Renew": func(t *testing.T, b *sqllock.Backend) error {
				return testkit.Renewed(t, b, request("key", time.Minute).Grant()).Err
			},
			"Release": func(t *testing.T, b *sqllock.Backend) error {
				return b.Release(t.Context(), request("key", time.Minute).Grant())
			},
		} {
			if !errors.As(refusal, new(stateError)) && what != "Renew" {
				continue // the outcome is open
			}
			t.Run(fmt.Sprint(what, " ", refusal), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &script{}
					b := s.open(t, 12)
					s.idle(t, b, 6)
					old := s.conns
					refused := 0
					s.before = func(conn int, query string) error {
						if conn <= old && (strings.HasPrefix(query, "UPDATE") || strings.HasPrefix(query, "INSERT")) {
							refused++
							return refusal
						}
						return nil
					}
					if err := call(t, b); err != nil {
						t.Errorf("with a new primary: %v", err)
					}
					before := refused
					for range 10 {
						if err := call(t, b); err != nil {
							t.Errorf("with a new primary, again: %v", err)
						}
					}
					if refused != before {
						t.Errorf("%d statements went to the old one later", refused-before)
					}
					old = 1 << 20
					conns := s.conns
					for range 10 {
						if err := call(t, b); err == nil {
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
