package electorlock_test

import (
	"cmp"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/klog/v2"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/examples/electorlock"
	"github.com/distlock-go/distlock/internal/test/adaptertest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

const retryPeriod = time.Second

// elect runs an elector until ctx ends. Then the leader has resigned.
func elect(ctx context.Context, lock *electorlock.Lock, lead func(context.Context), see func(leader string)) error {
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: retryPeriod,
		ReleaseOnCancel: true,
		Callbacks:       leaderelection.LeaderCallbacks{OnStartedLeading: lead, OnStoppedLeading: func() {}, OnNewLeader: see},
	})
	if err != nil {
		return err
	}
	elector.Run(klog.NewContext(ctx, klog.Logger{})) // without a log
	return nil
}

var adapter = adaptertest.Adapter{Name: "elector", Key: "app:operator", Open: func(l *distlock.Locker, o distlock.Opts) adaptertest.Run {
	o.MaxWait = time.Hour
	return func(ctx context.Context, job adaptertest.Job) error {
		// The elector gives the lock up when its context ends, so that is when the job
		// has returned.
		running, end := context.WithCancelCause(context.WithoutCancel(ctx))
		defer end(nil)
		lock, running := electorlock.New(running, l, "operator", o)
		stop := context.AfterFunc(ctx, func() { end(ctx.Err()) }) // until it leads
		led := make(chan error, 1)
		err := elect(running, lock, func(leading context.Context) {
			if !stop() {
				led <- ctx.Err()
				return
			}
			leading, cancel := context.WithCancelCause(leading)
			defer context.AfterFunc(ctx, func() { cancel(ctx.Err()) })()
			defer context.AfterFunc(running, func() { cancel(context.Cause(running)) })()
			err := job(leading)
			end(err)
			led <- err
		}, func(string) {})
		if cause := context.Cause(running); errors.Is(cause, distlock.ErrLost) || len(led) == 0 {
			return cmp.Or(err, cause)
		}
		return errors.Join(err, <-led)
	}
}}

func TestMain(m *testing.M) { adaptertest.Main(m, adapter) }

func TestAdapter(t *testing.T) { adaptertest.Test(t, adapter) }

// TestResign: candidates see who leads. The leader resigns, and the other one leads
// when it asks next, with a larger token.
func TestResign(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memlock.New()
		var tokens []uint64
		lead := func(holder string, f func()) (lock *electorlock.Lock, seen chan string) {
			seen = make(chan string, 10)
			l := testkit.NewLocker(t, store, distlock.Config{Holder: holder})
			ctx, resign := context.WithCancel(t.Context())
			lock, ctx = electorlock.New(ctx, l, "operator", distlock.Opts{Prefix: "leader:"})
			ended := make(chan error, 1)
			go func() {
				ended <- elect(ctx, lock, func(context.Context) {
					tokens = append(tokens, lock.Lease().Token())
					f()
					resign()
				}, func(leader string) { seen <- leader })
			}()
			t.Cleanup(func() { testkit.WantIs(t, <-ended) })
			return lock, seen
		}
		first, seenByFirst := lead("one", func() { time.Sleep(time.Minute) })
		synctest.Wait()
		second, seenBySecond := lead("two", func() {})
		time.Sleep(time.Minute - 1)
		if a, b := <-seenByFirst, <-seenBySecond; a != first.Identity() || b != "one" || second.Lease() != nil {
			t.Errorf("the first one has seen %q, and the other one %q", a, b)
		}
		time.Sleep(3 * retryPeriod)
		if len(tokens) != 2 || tokens[0] >= tokens[1] || first.Lease() != nil {
			t.Errorf("the tokens are %d", tokens)
		}
	})
}

// TestLoss: an elector whose lock was taken away does not lead again, also if nobody
// else does and it runs with another context.
func TestLoss(t *testing.T) {
	testkit.Bubble(t, func(t *testing.T, l *distlock.Locker, _ *testkit.Store) {
		lock, ctx := electorlock.New(t.Context(), l, "operator", distlock.Opts{})
		terms := 0
		testkit.WantIs(t, elect(t.Context(), lock, func(context.Context) {
			terms++
			if held, err := admin.ForceRelease(t.Context(), l, "operator"); !held || err != nil {
				t.Error(held, err)
			}
		}, func(string) {}))
		testkit.WantIs(t, context.Cause(ctx), distlock.ErrLost)
		if found, err := admin.Inspect(t.Context(), l, "", 1); terms != 1 || len(found) > 0 || err != nil {
			t.Errorf("%d terms; it holds %v, %v", terms, found, err)
		}
	})
}

// TestKey: a key that no lock can have is refused when the program starts. An elector whose time
// is over gets none.
func TestKey(t *testing.T) {
	t.Parallel()
	l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
	testkit.WantPanic(t, "distlock: options: Value is empty", func() { electorlock.New(t.Context(), l, "", distlock.Opts{}) })
	lock, _ := electorlock.New(t.Context(), l, "operator", distlock.Opts{})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := lock.Get(ended); err == nil || lock.Lease() != nil {
		t.Errorf("Get: %v, with the lease %v", err, lock.Lease())
	}
}
