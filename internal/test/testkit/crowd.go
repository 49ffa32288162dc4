package testkit

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// Queue is a backend with a queue.
type Queue interface {
	driver.Backend
	driver.Queuer
}

// Crowd is what many processes do with one key: each takes it, works for a millisecond, and
// gives it back, again and again. Never do two have it that exclude each other, and tokens rise.
type Crowd struct {
	Looks   Looks
	TTL     time.Duration         // of the leases; 10 s by default
	Sharing func() driver.Sharing // of a visit; exclusive by default
	Crashes int                   // of a hundred holders, whose processes start again
	Failure func(error) bool      // reports whether calls may return an error; they are repeated
	Most    int                   // visits, before the time is over; 0: any number

	// What is seen by it. Read it after Run.
	Visits  int
	InOrder int           // visits of the one who came first
	Longest time.Duration // wait

	mu      sync.Mutex
	now     []driver.Sharing // of the holders
	token   uint64
	arrived []time.Time // of those who wait
}

// Count returns the visits so far.
func (c *Crowd) Count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Visits
}

// enter notes a grant to the process i.
func (c *Crowd) enter(t testing.TB, g driver.Grant, i int) {
	t.Helper()
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
	c.Visits++
	came := c.arrived[i]
	c.arrived[i] = time.Now().Add(time.Hour)
	c.Longest = max(c.Longest, time.Since(came))
	if !slices.ContainsFunc(c.arrived, func(a time.Time) bool { return a.Before(came) }) {
		c.InOrder++
	}
}

// Run lets n processes visit a key until the time is over. It closes their backends.
func (c *Crowd) Run(t testing.TB, open func() Queue, n int, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	c.arrived = make([]time.Time, n)
	begun := time.Now() // all come together
	for i := range c.arrived {
		c.arrived[i] = begun.Add(time.Hour)
	}
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			q := open()
			for came := begun; ctx.Err() == nil && (c.Most == 0 || c.Count() < c.Most); came = time.Now() {
				if !c.visit(ctx, t, q, i, came) {
					_ = q.(io.Closer).Close()
					q = open()
				}
			}
			_ = q.(io.Closer).Close()
		})
	}
	all.Wait()
}

// Disturb lets three processes take turns at a key, calls f when they have had some, and waits
// until they have had many more.
func (c *Crowd) Disturb(t testing.TB, open func() Queue, f func()) {
	t.Helper()
	const some = 40
	c.TTL, c.Looks.Every, c.Most = 10*time.Minute, time.Second, 3*some
	c.Failure = func(err error) bool { return !errors.Is(err, driver.ErrLost) }
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.Run(t, open, 3, 2*Patience)
	}()
	Eventually(t, "they take turns", func() bool { return c.Count() > some })
	f()
	<-done
	if c.Visits < c.Most {
		t.Errorf("%d turns of %d", c.Visits, c.Most)
	}
}

// visit acquires the key and releases it. It returns false if the process crashes instead.
func (c *Crowd) visit(ctx context.Context, t testing.TB, q Queue, i int, came time.Time) bool {
	t.Helper()
	r := NewRequest("crowd")
	r.TTL = cmp.Or(c.TTL, 10*time.Second)
	if c.Sharing != nil {
		s := c.Sharing()
		r.Mode, r.Permits = s.Mode, s.Permits
	}
	c.mu.Lock()
	c.arrived[i] = came
	c.mu.Unlock()
	g, err := Await(ctx, q, r, c.Looks)
	crash := rand.N(100) < c.Crashes
	if err == nil {
		c.enter(t, g, i)
		time.Sleep(time.Millisecond)
		c.mu.Lock()
		c.now = c.now[1:]
		c.mu.Unlock()
	} else if g = r.Grant(); ctx.Err() == nil && !c.expected(err) {
		t.Error(err)
	}
	for !crash {
		err := q.Release(context.WithoutCancel(ctx), g)
		if err == nil || errors.Is(err, driver.ErrLost) && g.Token == 0 {
			break
		}
		if !c.expected(err) && !errors.Is(err, driver.ErrLost) {
			t.Error(err)
		}
	}
	return !crash
}

func (c *Crowd) expected(err error) bool { return c.Failure != nil && c.Failure(err) }
