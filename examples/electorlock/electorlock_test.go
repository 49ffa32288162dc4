package electorlock_test

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/klog/v2"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/examples/electorlock"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

const (
	lease       = 5 * time.Second
	retryPeriod = time.Second
	key         = "leader:operator"
)

func TestMain(m *testing.M) {
	testkit.BeChild(map[string]func(*testkit.Child) error{"leader": beLeader})
	os.Exit(m.Run())
}

// term is one of a leader.
type term struct {
	leader     string
	lock       *electorlock.Lock
	began, end time.Time
}

// candidate is a process with an elector.
type candidate struct {
	locker *distlock.Locker
	lock   *electorlock.Lock
	ctx    context.Context // of New
	resign context.CancelFunc
	ended  chan bool // closed when the elector has ended
	terms  chan *term
	seen   chan string // the leaders that it has seen
}

// run runs an elector. If alone is true, it does not run with the context of New.
func run(b driver.Backend, holder string, o distlock.Opts, alone bool) (*candidate, error) {
	c := &candidate{
		locker: distlock.New(b, distlock.Config{Holder: holder}), ended: make(chan bool),
		terms: make(chan *term, 10), seen: make(chan string, 100),
	}
	o.Prefix, o.KeyTimeout = "leader:", lease
	ctx, cancel := context.WithCancel(context.Background())
	c.resign = cancel
	c.lock, c.ctx = electorlock.New(ctx, c.locker, "operator", o)
	if !alone {
		ctx = c.ctx
	}
	var leads sync.WaitGroup
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: c.lock, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: retryPeriod,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				x := &term{leader: holder, lock: c.lock, began: time.Now()}
				c.terms <- x
				<-ctx.Done()
				x.end = time.Now()
				leads.Done()
			},
			OnStoppedLeading: func() {},
			OnNewLeader:      func(name string) { c.seen <- name },
		},
	})
	if err != nil {
		return nil, err
	}
	leads.Add(1)
	go func() {
		elector.Run(klog.NewContext(ctx, klog.Logger{})) // without a log
		if len(c.terms) > 0 {
			leads.Wait()
		}
		close(c.ended)
	}()
	return c, nil
}

// start runs an elector until the test ends.
func start(t *testing.T, b driver.Backend, holder string, o distlock.Opts, alone bool) *candidate {
	t.Helper()
	c, err := run(b, holder, o, alone)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.resign()
		<-c.ended
		if err := c.locker.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// leads waits until the candidate leads.
func (c *candidate) leads() *term {
	x := <-c.terms
	c.terms <- x
	return x
}

// TestResign: a leader resigns, and the other candidate, which has seen who led, leads next:
// with MaxWait at once, else when it asks next.
func TestResign(t *testing.T) {
	for _, maxWait := range []time.Duration{0, 10 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			store, o := memlock.New(), distlock.Opts{MaxWait: maxWait}
			first := start(t, store, "one", o, false)
			one := first.leads()
			second := start(t, store, "two", o, false)
			time.Sleep(time.Minute)
			if len(second.terms) > 0 {
				t.Fatal("both lead")
			}
			if seen := <-second.seen; seen != "one" {
				t.Errorf("the other one has seen %q", seen)
			}
			if seen := <-first.seen; seen != first.lock.Identity() {
				t.Errorf("the leader has seen %q", seen)
			}
			token := one.lock.Lease().Token()
			first.resign()
			<-first.ended
			two := second.leads()
			if gap := two.began.Sub(one.end); gap < 0 || gap > 3*retryPeriod || maxWait > 0 && gap != 0 {
				t.Errorf("with MaxWait %v, %v after the first one", maxWait, gap)
			}
			if first.lock.Lease() != nil || second.lock.Lease().Token() <= token {
				t.Error("the tokens do not grow")
			}
		})
	}
}

// TestCutOff: a leader that does not reach the store has ended before the next one leads.
func TestCutOff(t *testing.T) {
	for _, fault := range []func(*testkit.Store){
		func(s *testkit.Store) { s.Fail(errors.New("no route"), testkit.Try, testkit.Renew, testkit.Release) },
		func(s *testkit.Store) { s.Hang(testkit.Try, testkit.Renew, testkit.Release) },
	} {
		synctest.Test(t, func(t *testing.T) {
			store := memlock.New()
			cut := testkit.Wrap(store)
			first := start(t, cut, "one", distlock.Opts{}, false)
			one := first.leads()
			second := start(t, store, "two", distlock.Opts{}, false)
			time.Sleep(time.Minute)
			fault(cut)
			<-first.ended
			two := second.leads()
			if !one.end.Before(two.began) || two.began.Sub(one.began.Add(time.Minute)) > lease+3*retryPeriod {
				t.Errorf("one led until %v, two from %v", one.end, two.began)
			}
			if err := context.Cause(first.ctx); !errors.Is(err, distlock.ErrLost) {
				t.Errorf("the context ended with %v", err)
			}
			cut.Fail(nil)
		})
	}
}

// TestLoss: an elector whose lock was taken away does not lead again, also if nobody else
// does and it runs with another context.
func TestLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, memlock.New(), "one", distlock.Opts{}, true)
		c.leads()
		time.Sleep(time.Minute)
		if held, err := admin.ForceRelease(t.Context(), c.locker, key); !held || err != nil {
			t.Fatal(held, err)
		}
		<-c.ctx.Done()
		<-c.ended
		if len(c.terms) != 1 || !errors.Is(context.Cause(c.ctx), distlock.ErrLost) {
			t.Errorf("%d terms, and the context ended with %v", len(c.terms), context.Cause(c.ctx))
		}
		if found, err := admin.Inspect(t.Context(), c.locker, key, 1); len(found) > 0 || err != nil {
			t.Errorf("it holds %v, %v", found, err)
		}
	})
}

// TestKey: a key that no lock can have is refused when the program starts.
func TestKey(t *testing.T) {
	t.Parallel()
	l := distlock.New(memlock.New(), distlock.Config{})
	defer l.Close()
	testkit.WantPanic(t, "distlock: options: Value is empty", func() { electorlock.New(t.Context(), l, "", distlock.Opts{}) })
}

// TestKilled kills the process that leads. The next one leads when the lease is over.
func TestKilled(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	killed := testkit.StartChild(t, "leader", server.Addr())
	killed.Hear("leads")
	next := start(t, redislock.New(server.Client(t), redislock.Config{}), "next", distlock.Opts{MaxWait: 10 * time.Second}, false)
	testkit.Eventually(t, "the next one waits", func() bool {
		found, err := admin.Inspect(t.Context(), next.locker, key, 1)
		return err == nil && len(found) == 1 && found[0].Waiting == 1
	})
	if len(next.terms) > 0 {
		t.Error("both lead")
	}
	killed.Kill()
	before := time.Now()
	waited := next.leads().began.Sub(before)
	t.Logf("killed: the next one led after %v, with a lease of %v", waited, lease)
	if waited > lease+testkit.Patience {
		t.Error("that is too long")
	}
}

// beLeader is a process that leads until it is killed.
func beLeader(c *testkit.Child) error {
	var addr string
	if err := c.Decode(&addr); err != nil {
		return err
	}
	leader, err := run(redislock.New(redis.NewClient(&redis.Options{Addr: addr}), redislock.Config{}), "killed", distlock.Opts{}, false)
	if err != nil {
		return err
	}
	leader.leads()
	c.Say("leads")
	<-leader.ended
	return context.Cause(leader.ctx)
}
