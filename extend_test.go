package distlock_test

import (
	"context"
	"crypto/rand"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
)

// extending is a store with Extend. It does not know its waiters, so a test reports
// them with refuse, and contended is part of each grant.
type extending struct {
	*store

	contended bool
	silent    bool // requests to extend are never answered
	fewer     int  // tokens of a block; 0: as requested
	refuse    func(g driver.Grant) error
}

func (p *extending) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := p.store.Acquire(ctx, r)
	g.Contended = p.contended
	if p.fewer > 0 {
		g.LastToken = min(g.LastToken, g.Token+uint64(p.fewer)-1)
	}
	return g, err
}

func (p *extending) Extend(ctx context.Context, g driver.Grant, tokens int) (driver.Grant, error) {
	c, err := p.note("extend", g.Key, g.Owner)
	if err != nil {
		return driver.Grant{}, err
	}
	if p.silent {
		<-ctx.Done()
	}
	if err := ctx.Err(); err != nil {
		return driver.Grant{}, err
	}
	if p.refuse != nil {
		if err := p.refuse(g); err != nil {
			return driver.Grant{}, err
		}
	}
	if driver.RenewAll(ctx, p.Backend, []driver.Grant{g})[0].Status != driver.Renewed {
		return driver.Grant{}, distlock.ErrLost
	}
	if p.fewer > 0 {
		tokens = p.fewer
	}
	// memlock has one counter of tokens for all keys.
	more, err := p.Backend.TryAcquire(ctx, driver.Request{Key: rand.Text(), Owner: g.Owner, TTL: g.TTL, Tokens: tokens})
	if err == nil {
		err = p.Backend.Release(ctx, more)
	}
	g.Token, g.LastToken, g.Sent = more.Token, more.LastToken, more.Sent
	return g, p.reply(c, err)
}

// circulate passes one key among n waiters and the first holder, and returns the number
// of calls of each kind that reached the store. The tokens must rise.
func circulate(t *testing.T, p *extending, cfg distlock.Config, n int, f func(ctx context.Context)) (waits, releases, extends int) {
	t.Helper()
	l := distlock.New(p, cfg)
	defer nothingLeft(t, l, p.store)
	defer closeLocker(t, l)
	held := mustAcquire(t, l, "k", distlock.Opts{})
	var all sync.WaitGroup
	last, inside := held.Token(), false
	line(t, &all, l, n, distlock.Opts{}, func(ctx context.Context, _ int) {
		lease, _ := distlock.FromContext(ctx)
		if lease.Token() <= last || inside {
			t.Errorf("token %d after %d, overlap %v", lease.Token(), last, inside)
		}
		last, inside = lease.Token(), true
		f(ctx)
		wantIs(t, lease.Check())
		inside = false
	})
	wantIs(t, held.Release(t.Context()))
	all.Wait()
	synctest.Wait() // a request may have been decided on and not sent
	return len(p.seen("wait")), len(p.seen("release")), len(p.seen("extend"))
}

// untimed makes only the count end the hand-overs.
var untimed = distlock.Config{HandOvers: 64, HandOverTime: time.Hour}

func TestExtendedKeyStaysInTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waits, releases, extends := circulate(t, &extending{store: newStore()}, untimed, 500, func(context.Context) {})
		if waits != 1 || releases != 1 || extends != 8 { // 500 hand-overs by 64
			t.Errorf("%d acquisitions, %d releases, %d questions; want 1, 1, 8", waits, releases, extends)
		}
	})
}

// A key with few hand-overs does not cause requests.
func TestFewHandOversAskNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if _, _, n := circulate(t, &extending{store: newStore()}, untimed, 8, func(context.Context) {}); n != 0 {
			t.Errorf("%d questions for 8 hand-overs", n)
		}
	})
}

func TestRefusedHoldGoesBackAtItsBound(t *testing.T) {
	for name, refusal := range map[string]error{"others wait": distlock.ErrNotAcquired, "no answer": errBroken} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &extending{store: newStore(), refuse: func(driver.Grant) error { return refusal }}
				waits, releases, extends := circulate(t, p, untimed, 500, func(context.Context) {})
				if waits != 8 || releases != 8 || extends != 8 { // 501 holders by 65
					t.Errorf("%d acquisitions, %d releases, %d questions; want 8 each", waits, releases, extends)
				}
			})
		})
	}
}

func TestContendedGrantIsNotExtended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waits, _, extends := circulate(t, &extending{store: newStore(), contended: true}, untimed, 500, func(context.Context) {})
		if waits != 8 || extends != 0 {
			t.Errorf("%d acquisitions, %d questions; want 8 and none", waits, extends)
		}
	})
}

// A block may be smaller than asked for.
func TestExtendedByFewTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &extending{store: newStore(), fewer: 16}
		waits, _, extends := circulate(t, p, untimed, 15+160, func(context.Context) { synctest.Wait() })
		if waits != 1 || extends != 1+10 {
			t.Errorf("%d acquisitions, %d questions; want 1 and 11", waits, extends)
		}
	})
}

func TestExtendedHoldEndsWithItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &extending{store: newStore()}
		cfg := distlock.Config{HandOvers: 4} // each grant is extended before its time has passed
		waits, releases, extends := circulate(t, p, cfg, 50, func(context.Context) { time.Sleep(10 * time.Millisecond) })
		if waits < 5 || waits > 6 || releases != waits || extends < waits { // 100 ms are ten holders of 10 ms
			t.Errorf("%d acquisitions, %d releases, %d questions for 50 holders of 10 ms", waits, releases, extends)
		}
	})
}

// Extending counts as a renewal.
func TestExtendExtendsTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &extending{store: newStore()}
		circulate(t, p, distlock.Config{HandOvers: 2, HandOverTime: time.Hour}, 30, func(ctx context.Context) {
			time.Sleep(time.Second)
			lease, _ := distlock.FromContext(ctx)
			if d := time.Until(lease.Until()); d < 4*time.Second {
				t.Errorf("%v are left", d)
			}
		})
		if n := len(p.seen("renew")); n > 0 { // requests come every two seconds
			t.Errorf("renewed %d times by the watchdog", n)
		}
	})
}

func TestExtendThatFindsTheKeyLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &extending{store: newStore()}
		p.before = func(c call) error {
			if c.op == "extend" {
				time.Sleep(10 * time.Millisecond) // until the next holder has the key
			}
			return nil
		}
		l := distlock.New(p, distlock.Config{HandOvers: 8})
		defer closeLocker(t, l)
		held := mustAcquire(t, l, "k", distlock.Opts{})
		var all sync.WaitGroup
		line(t, &all, l, 1, distlock.Opts{}, func(context.Context, int) {})
		all.Go(func() { // the second hand-over: now the store is asked
			wantIs(t, l.Do(t.Context(), "k", distlock.Opts{}, func(ctx context.Context) error {
				start := time.Now()
				<-ctx.Done()
				wantIs(t, context.Cause(ctx), distlock.ErrLost)
				if d := time.Since(start); d != 10*time.Millisecond {
					t.Errorf("told after %v, want with the answer", d)
				}
				if n := l.Watched(); n != 0 {
					t.Errorf("%d lost leases are watched", n)
				}
				return nil
			}), distlock.ErrLost)
		})
		synctest.Wait()
		p.Drop("k")
		wantIs(t, held.Release(t.Context()))
		all.Wait()
		nothingLeft(t, l, p.store)
	})
}

// A holder that releases the last share of a block waits for the reply, for at most 100
// ms.
func TestExtendWithoutAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &extending{store: newStore(), silent: true}
		start := time.Now()
		waits, releases, extends := circulate(t, p, untimed, 64+65, func(context.Context) {})
		if d := time.Since(start); d != 200*time.Millisecond { // the last one of each grant
			t.Errorf("it took %v", d)
		}
		if waits != 2 || releases != 2 || extends != 2 {
			t.Errorf("%d acquisitions, %d releases, %d questions; want 2 each", waits, releases, extends)
		}
	})
}

// A release does not wait for a reply if there is nothing to hand over, or no room for
// another holder.
func TestReleaseDoesNotWaitForAExtend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &extending{store: newStore()}
		p.before = func(c call) error {
			if c.op == "extend" {
				time.Sleep(50 * time.Millisecond)
			}
			return nil
		}
		start := time.Now()
		l := distlock.New(p, untimed)
		held := mustAcquire(t, l, "k", distlock.Opts{})
		var all sync.WaitGroup
		line(t, &all, l, 20, distlock.Opts{}, func(context.Context, int) {})
		wantIs(t, held.Release(t.Context()))
		all.Wait()
		if d := time.Since(start); d != 0 {
			t.Errorf("it took %v", d)
		}
		closeLocker(t, l) // waits for requests in progress
		nothingLeft(t, l, p.store)
	})
}

// The holder of the last share of a block waits for a reply in flight.
func TestSlowAnswerIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &extending{store: newStore()}
		p.before = func(c call) error {
			if c.op == "extend" {
				time.Sleep(10 * time.Millisecond)
			}
			return nil
		}
		waits, releases, extends := circulate(t, p, untimed, 500, func(context.Context) {})
		if waits != 1 || releases != 1 || extends != 8 {
			t.Errorf("%d acquisitions, %d releases, %d questions; want 1, 1, 8", waits, releases, extends)
		}
	})
}

// A grant that is extended or released has the last token that was issued for it, used or
// not: a store may have to record it, or begin the next tokens there.
func TestStoreIsToldTheLastToken(t *testing.T) {
	for n := range 5 {
		synctest.Test(t, func(t *testing.T) {
			p := &minted{extending: &extending{store: newStore()}}
			l := distlock.New(p, distlock.Config{HandOvers: 2})
			defer closeLocker(t, l)
			held := mustAcquire(t, l, "k", distlock.Opts{})
			for range n {
				next := inBackground(t, l, distlock.Opts{})
				wantIs(t, held.Release(t.Context()))
				held = mustGet(t, next)
			}
			wantIs(t, held.Release(t.Context()))
			if p.last == 0 || p.released != p.last || p.outdated {
				t.Errorf("released with %d after %d hand-overs, minted up to %d, extended with less: %v", p.released, n, p.last, p.outdated)
			}
		})
	}
}

// minted records the last token that was issued, and that of the release.
type minted struct {
	*extending
	last, released uint64
	outdated       bool // an extension did not know the last token
}

func (m *minted) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := m.extending.Acquire(ctx, r)
	m.last = g.LastToken
	return g, err
}

func (m *minted) Extend(ctx context.Context, g driver.Grant, tokens int) (driver.Grant, error) {
	m.outdated = m.outdated || g.LastToken != m.last
	g, err := m.extending.Extend(ctx, g, tokens)
	m.last = g.LastToken
	return g, err
}

func (m *minted) Release(ctx context.Context, g driver.Grant) error {
	m.released = g.LastToken
	return m.extending.Release(ctx, g)
}
