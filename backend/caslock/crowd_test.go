package caslock_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// Nobody looks by itself before its lease or its place ends: a wake-up that is lost is a wait
// of a second at least.
func TestEveryWaitIsShort(t *testing.T) {
	modes := map[string]func() driver.Sharing{
		"writers": func() driver.Sharing { return driver.Sharing{} },
		"readers": func() driver.Sharing { return driver.Sharing{Mode: driver.Mode(rand.N(2))} },
		"permits": func() driver.Sharing { return driver.Sharing{Permits: 2} },
	}
	for _, abilities := range []string{"m", "mt"} {
		for mode, sharing := range modes {
			for _, n := range []int{2, 3, 5} {
				t.Run(fmt.Sprint(abilities, "/", mode, "/", n), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						s := newServer(t)
						s.jitter = time.Millisecond
						c := testkit.Crowd{Sharing: sharing}
						c.Run(t, s.opener(abilities), n, 3*time.Second)
						if c.Longest > 500*time.Millisecond || c.Visits < 200 {
							t.Errorf("%d visits, the longest wait %v", c.Visits, c.Longest)
						}
					})
				})
			}
		}
	}
}

// The places of hundreds of waiters are written all the time, and no renewal meets them: nobody
// but the holder writes the lock's cell.
func TestRenewalsBesideWaiters(t *testing.T) {
	for abilities, crowds := range map[string][]int{"m": {100}, "mt": {300, 600}} {
		for _, n := range crowds {
			t.Run(fmt.Sprint(abilities, "/", n), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newServer(t)
					s.jitter = time.Millisecond
					if abilities == "mt" {
						s.service = 1600 * time.Microsecond
					}
					holder := s.opener(abilities)()
					g := testkit.MustTry(t, holder, testkit.NewRequest("crowd"))
					over := make(chan struct{})
					go func() {
						defer close(over)
						c := testkit.Crowd{Looks: testkit.Looks{Every: 500 * time.Millisecond}}
						c.Run(t, s.opener(abilities), n, 25*time.Second)
					}()
					time.Sleep(20 * time.Second) // all have arrived
					var longest time.Duration
					testkit.MustRenew(t, holder, g) // it sees the mark
					swaps := 0
					s.mu.Lock()
					s.fault = func(op, key, _ string) fault {
						if op == "swap" && key == "crowd" {
							swaps++
						}
						return none
					}
					s.mu.Unlock()
					for range 40 {
						time.Sleep(100 * time.Millisecond)
						start := time.Now()
						testkit.MustRenew(t, holder, g)
						longest = max(longest, time.Since(start))
					}
					renewed := swaps
					<-over
					t.Logf("the longest renewal %v, %d requests", longest, s.requests)
					if renewed != 40 {
						t.Errorf("%d swaps of the lock's cell in 40 renewals", renewed)
					}
					if longest > 100*time.Millisecond*time.Duration(max(1, n/300)) {
						t.Errorf("a renewal took %v", longest)
					}
				})
			})
		}
	}
}

// However many wait, the first that came is served first. The server is slow, and
// the waiters look by themselves, as a Locker does: their looks leave it time for the visits.
// A process that takes the key again and again does not keep out one that must read first.
func TestHundredsTakeTurns(t *testing.T) {
	for n, most := range map[int]int{2: 8, 10: 10, 100: 12, 300: 20, 600: 30} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t)
			s.service, s.jitter = 1600*time.Microsecond, 200*time.Microsecond
			c := testkit.Crowd{Looks: testkit.Looks{Every: 500 * time.Millisecond}}
			visits, requests := 0, 0
			look := func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				visits, requests = c.Count()-visits, s.requests-requests
			}
			time.AfterFunc(20*time.Second, look) // all have arrived
			time.AfterFunc(30*time.Second-1, look)
			c.Run(t, s.opener("mt"), n, 30*time.Second)
			t.Logf("%d processes: %d visits/s, %.1f requests each; %d of %d in order", n, visits/10, float64(requests)/float64(visits), c.InOrder, c.Visits)
			if c.InOrder < c.Visits*9/10 || n <= 10 && c.Longest > time.Second || requests > visits*most+visits/2 {
				t.Errorf("%d processes: %d of %d visits were in order, with %d requests for %d of them, the longest wait %v", n, c.InOrder, c.Visits, requests, visits, c.Longest)
			}
		})
	}
}

// The network loses requests, answers and messages, and delays requests; replicas lag;
// processes crash. Nobody gets a key that is held, tokens rise, and everybody is served.
func TestFaults(t *testing.T) {
	modes := []driver.Sharing{{}, {Mode: driver.Shared}, {Permits: 2}}
	for _, abilities := range []string{"", "m", "mt"} {
		for kinds := range len(modes) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t)
				s.jitter = time.Millisecond
				s.fault = func(string, string, string) fault {
					if rand.N(50) > 0 {
						return none
					}
					return fault(rand.N(int(late) + 1))
				}
				c := testkit.Crowd{
					TTL: time.Second, Crashes: 1, Failure: func(err error) bool { return errors.Is(err, errCut) },
					Sharing: func() driver.Sharing { return modes[kinds*rand.N(2)] },
				}
				c.Run(t, s.opener(abilities), 6, 40*time.Second)
				if c.Visits < 100 || c.Longest > 25*time.Second { // a waiter that hears no message joins again within 20 s
					t.Errorf("%q, %+v: %d visits, the longest wait %v", abilities, modes[kinds], c.Visits, c.Longest)
				}
			})
		}
	}
}

// A request in doubt cannot take the key after the release.
func TestReleaseInDoubt(t *testing.T) {
	for _, what := range []fault{lost, silent, late} {
		for at := range 3 { // the write of TryAcquire, Renew or Release
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t)
				swaps := 0
				s.fault = func(op, _, _ string) fault {
					if op != "swap" {
						return none
					}
					swaps++
					return map[int]fault{at + 1: what}[swaps]
				}
				open := s.opener("")
				p, other, r := open(), open(), testkit.NewRequest("key")
				g, err := p.TryAcquire(t.Context(), r)
				if err == nil {
					driver.RenewAll(t.Context(), p, []driver.Grant{g})
				} else {
					g = r.Grant()
				}
				for err := errCut; err != nil; {
					if err = p.Release(t.Context(), g); err != nil && !errors.Is(err, errCut) {
						t.Fatal(err)
					}
				}
				time.Sleep(time.Second) // the late request has arrived
				next, err := other.TryAcquire(t.Context(), testkit.NewRequest("key"))
				if err != nil || next.Token <= g.LastToken {
					t.Errorf("fault %d of write %d: %v, token %d after %d", what, at, err, next.Token, g.LastToken)
				}
			})
		}
	}
}

// Likewise for an attempt of a waiter. If it goes on, it asks at once: its message is used up.
func TestWaiterInDoubt(t *testing.T) {
	for _, what := range []fault{late, lost} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t)
			s.latency = 100 * time.Millisecond // it rests after a look
			holder, waiter, r := s.opener("m")(), s.opener("m")(), testkit.NewRequest("key")
			g := testkit.MustTry(t, holder, testkit.NewRequest("key"))
			if time.Since(g.Sent) < s.latency {
				t.Error("Sent is after the request")
			}
			mustBeHeld(t, waiter, r)
			testkit.MustRelease(t, holder, g)
			time.Sleep(s.latency + 1)
			synctest.Wait() // it is told
			s.fault = func(op, _, _ string) fault { return map[string]fault{"swap": what}[op] }
			if _, err := waiter.Enqueue(t.Context(), r); !errors.Is(err, errCut) {
				t.Fatal(err)
			}
			s.latency = 0 // the release is faster than a late request
			if s.fault = nil; what == lost {
				if _, err := waiter.Enqueue(t.Context(), r); err != nil {
					t.Error(err)
				}
			}
			testkit.MustRelease(t, waiter, r.Grant())
			time.Sleep(time.Second) // the late request has arrived
			testkit.MustTry(t, holder, testkit.NewRequest("key"))
		})
	}
}

// The count follows the clock: the tokens rise, even if a process that knows no other gets the
// key after the store has lost its cell.
func TestTokensRiseOverALostCell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		last := uint64(0)
		for range 3 {
			p, r := s.opener("")(), testkit.NewRequest("key")
			r.Tokens = driver.MaxTokens
			g, err := p.TryAcquire(t.Context(), r)
			if err != nil || g.Token <= last {
				t.Errorf("token %d after %d, %v", g.Token, last, err)
			}
			last = g.LastToken
			s.drop("key")
			time.Sleep(2 * time.Millisecond)
		}
	})
}
