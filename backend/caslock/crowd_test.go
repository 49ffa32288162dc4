package caslock_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// queuer is a backend of this package.
type queuer interface {
	driver.Backend
	driver.Queuer
	io.Closer
}

// process is a backend and its visits of one key.
type process struct {
	queuer

	id     int
	visits int
}

func (p *process) request(key string) driver.Request {
	p.visits++
	return driver.Request{Key: key, Owner: fmt.Sprintf("%08x-0000-4000-8000-%012x", p.id, p.visits), TTL: 10 * time.Second, Tokens: 1}
}

// crowd is what many processes do with one key.
type crowd struct {
	ttl     time.Duration // of the leases; 10 s by default
	looks   testkit.Looks
	crashes int // of a hundred holders, whose processes start again

	mu      sync.Mutex
	now     []driver.Sharing // of the holders
	token   uint64
	arrived []time.Time // of those who wait
	visits  int
	next    int           // visits of the one who came first
	longest time.Duration // wait
}

// enter notes a grant to somebody who came at the given time.
func (c *crowd) enter(t *testing.T, g driver.Grant, came time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.now); n > 0 && !c.now[0].Admits(n, g.Sharing()) {
		t.Errorf("%+v was admitted beside %+v", g.Sharing(), c.now)
	}
	if g.Token <= c.token {
		t.Errorf("token %d after %d", g.Token, c.token)
	}
	c.token = g.Token
	c.now = append(c.now, g.Sharing())
	c.visits++
	c.longest = max(c.longest, time.Since(came))
	first := true
	for i, a := range c.arrived {
		if a.Before(came) {
			first = false
		}
		if a.Equal(came) {
			c.arrived[i] = time.Now().Add(time.Hour)
		}
	}
	if first {
		c.next++
	}
}

func (c *crowd) exit() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now[1:]
}

// run lets n processes visit a key until the time is over.
func (c *crowd) run(t *testing.T, s *server, abilities string, n int, d time.Duration, sharing func() driver.Sharing) {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	c.arrived = make([]time.Time, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			p := &process{queuer: s.open(abilities).(queuer), id: i}
			defer func() { _ = p.Close() }()
			for ctx.Err() == nil {
				if !c.visit(ctx, t, p, sharing()) {
					_ = p.Close()
					p.queuer = s.open(abilities).(queuer)
				}
			}
		})
	}
	all.Wait()
}

// visit acquires the key and releases it. It returns false if the process crashes instead.
func (c *crowd) visit(ctx context.Context, t *testing.T, p *process, sharing driver.Sharing) bool {
	r := p.request("key")
	r.Mode, r.Permits, r.TTL = sharing.Mode, sharing.Permits, cmp.Or(c.ttl, r.TTL)
	came := time.Now()
	c.mu.Lock()
	c.arrived[p.id] = came
	c.mu.Unlock()
	g, err := testkit.Await(ctx, p, r, c.looks)
	crash := rand.N(100) < c.crashes
	if err == nil {
		c.enter(t, g, came)
		time.Sleep(time.Millisecond)
		c.exit()
	} else if g = r.Grant(); ctx.Err() == nil && !errors.Is(err, errCut) {
		t.Error(err)
	}
	for !crash {
		err := p.Release(context.WithoutCancel(ctx), g)
		if err == nil || errors.Is(err, driver.ErrLost) && g.Token == 0 {
			break
		}
		if !errors.Is(err, errCut) && !errors.Is(err, driver.ErrLost) {
			t.Error(err)
		}
	}
	return !crash
}

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
						s := newServer()
						s.jitter = time.Millisecond
						var c crowd
						c.run(t, s, abilities, n, 3*time.Second, sharing)
						t.Logf("%d visits, %d in order, the longest wait %v", c.visits, c.next, c.longest)
						if c.longest > 500*time.Millisecond || c.visits < 200 {
							t.Errorf("%d visits, the longest wait %v", c.visits, c.longest)
						}
					})
				})
			}
		}
	}
}

// The places of hundreds of waiters are written all the time, and no renewal meets them.
func TestRenewalsBesideWaiters(t *testing.T) {
	for abilities, crowds := range map[string][]int{"m": {100}, "mt": {300, 600}} {
		for _, n := range crowds {
			t.Run(fmt.Sprint(abilities, "/", n), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newServer()
					s.jitter = time.Millisecond
					if abilities == "mt" {
						s.service = 1600 * time.Microsecond
					}
					holder := s.open(abilities)
					r := (&process{id: n}).request("key")
					r.TTL = time.Minute
					g := testkit.MustTry(t, holder, r)
					ctx, cancel := context.WithCancel(t.Context())
					var all sync.WaitGroup
					for i := range n {
						p := &process{queuer: s.open(abilities).(queuer), id: i}
						all.Go(func() {
							defer p.Close()
							r := p.request("key")
							if _, err := testkit.Await(ctx, p, r, testkit.Looks{Every: 500 * time.Millisecond}); ctx.Err() == nil {
								t.Error("a waiter has returned:", err)
							}
							if err := p.Release(context.WithoutCancel(ctx), r.Grant()); err != nil {
								t.Error(err)
							}
						})
					}
					time.Sleep(20 * time.Second) // all have arrived
					var longest time.Duration
					for range 40 {
						time.Sleep(100 * time.Millisecond)
						start := time.Now()
						if r := driver.RenewAll(ctx, holder, []driver.Grant{g})[0]; r.Status != driver.Renewed {
							t.Fatal(r)
						}
						longest = max(longest, time.Since(start))
					}
					cancel()
					all.Wait()
					t.Logf("the longest renewal %v, %d requests", longest, s.requests)
					if longest > 100*time.Millisecond*time.Duration(max(1, n/300)) {
						t.Errorf("a renewal took %v", longest)
					}
				})
			})
		}
	}
}

// However many take turns, it is the turn of the one who came first. The server is slow, and
// the waiters look by themselves, as a Locker does: their looks leave it time for the visits.
// A process that takes the key again and again does not keep out one that must read first.
func TestHundredsTakeTurns(t *testing.T) {
	for n, most := range map[int]int{2: 8, 10: 10, 100: 12, 300: 20, 600: 30} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer()
			s.service, s.jitter = 1600*time.Microsecond, 200*time.Microsecond
			c := crowd{looks: testkit.Looks{Every: 500 * time.Millisecond}}
			visits, requests := 0, 0
			look := func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				c.mu.Lock()
				defer c.mu.Unlock()
				visits, requests = c.visits-visits, s.requests-requests
			}
			time.AfterFunc(20*time.Second, look) // all have arrived
			time.AfterFunc(30*time.Second-1, look)
			c.run(t, s, "mt", n, 30*time.Second, func() driver.Sharing { return driver.Sharing{} })
			t.Logf("%d processes: %d visits/s, %d requests each; %d of %d in order", n, visits/10, requests/max(1, visits), c.next, c.visits)
			if c.next < c.visits*9/10 || requests > visits*most+visits/2 {
				t.Errorf("%d processes: %d of %d visits were in order, with %d requests for %d of them", n, c.next, c.visits, requests, visits)
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
				s := newServer()
				s.jitter = time.Millisecond
				s.fault = func(string, string, string) fault {
					if rand.N(50) > 0 {
						return none
					}
					return fault(rand.N(int(late) + 1))
				}
				c := crowd{ttl: time.Second, crashes: 1}
				c.run(t, s, abilities, 6, 30*time.Second, func() driver.Sharing { return modes[kinds*rand.N(2)] })
				t.Logf("%q, %+v: %d visits, the longest wait %v, %d requests", abilities, modes[kinds], c.visits, c.longest, s.requests)
				if c.visits < 100 || c.longest > 15*time.Second {
					t.Errorf("%q, %+v: %d visits, the longest wait %v", abilities, modes[kinds], c.visits, c.longest)
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
				s := newServer()
				swaps := 0
				s.fault = func(op, _, _ string) fault {
					if op != "swap" {
						return none
					}
					if swaps++; swaps == at+1 {
						return what
					}
					return none
				}
				p, other := &process{queuer: s.open("").(queuer)}, &process{queuer: s.open("").(queuer), id: 1}
				defer p.Close()
				defer other.Close()
				r := p.request("key")
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
				next, err := other.TryAcquire(t.Context(), other.request("key"))
				if err != nil || next.Token <= g.LastToken {
					t.Errorf("fault %d of write %d: %v, token %d after %d", what, at, err, next.Token, g.LastToken)
				}
			})
		}
	}
}

// The count follows the clock: the tokens rise, even if a process that knows no other gets the
// key after the store has lost its cell.
func TestTokensRiseOverALostCell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		last := uint64(0)
		for i := range 3 {
			p := &process{queuer: s.open("").(queuer), id: i}
			r := p.request("key")
			r.Tokens = driver.MaxTokens
			g, err := p.TryAcquire(t.Context(), r)
			if err != nil || g.Token <= last {
				t.Errorf("token %d after %d, %v", g.Token, last, err)
			}
			last = g.LastToken
			s.drop("key")
			_ = p.Close()
			time.Sleep(2 * time.Millisecond)
		}
	})
}
