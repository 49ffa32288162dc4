// Package knownrun tests that hooks measure exactly what happens.
package knownrun

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// Test takes locks with the hooks h, in a way of which every wait and hold is known, and checks
// what gather returns at points of it and in the end: a line for each series, in any order, with
// the name of its family in Prometheus, the values of its labels name, mode and outcome, and
// its value, or for a histogram its count and sum. A counter or gauge of zero has none. Test must
// be called in a bubble of package synctest.
func Test(t *testing.T, h distlock.Hooks, gather func() []string) {
	t.Helper()
	r := &run{T: t, store: testkit.NewStore(), gather: gather}
	r.locker = distlock.New(r.store, distlock.Config{Hooks: h, HandOverTime: time.Minute, MaxWaiters: 4})
	r.waits()
	r.losses()
	r.renewals()
	r.failures()
	r.sets()
	r.close()
	r.want(series, "distlock_")
}

// series are all series in the end that are not zero.
const series = `
distlock_hold_duration_seconds all exclusive released 4 3
distlock_hold_duration_seconds job exclusive released 1 2
distlock_hold_duration_seconds job shared released 2 3
distlock_hold_duration_seconds lead exclusive released 1 1
distlock_hold_duration_seconds lost exclusive lost 3 2
distlock_hold_duration_seconds pool permits released 2 0
distlock_hold_duration_seconds shop:pay exclusive released 4 2.5
distlock_hold_duration_seconds unnamed exclusive lost 1 1
distlock_hold_duration_seconds unnamed exclusive unavailable 1 0
distlock_losses_total lost exclusive 3
distlock_losses_total unnamed exclusive 1
distlock_renewals_total job exclusive failed 2
distlock_renewals_total job exclusive renewed 1
distlock_renewals_total job shared renewed 2
distlock_wait_duration_seconds all exclusive acquired 4 0
distlock_wait_duration_seconds all exclusive not_acquired 1 0
distlock_wait_duration_seconds job exclusive acquired 1 0
distlock_wait_duration_seconds job exclusive upgrade 1 0
distlock_wait_duration_seconds job shared acquired 1 0
distlock_wait_duration_seconds job shared handed_over 1 0
distlock_wait_duration_seconds lead exclusive acquired 1 0
distlock_wait_duration_seconds lost exclusive acquired 3 0
distlock_wait_duration_seconds lost exclusive lost 1 0
distlock_wait_duration_seconds pool permits acquired 2 0
distlock_wait_duration_seconds pool permits not_acquired 1 0
distlock_wait_duration_seconds shop:pay exclusive acquired 1 0
distlock_wait_duration_seconds shop:pay exclusive handed_over 3 4.5
distlock_wait_duration_seconds shop:pay exclusive not_acquired 3 0.5
distlock_wait_duration_seconds shop:pay exclusive queue_full 1 0
distlock_wait_duration_seconds shop:pay exclusive reentered 1 0
distlock_wait_duration_seconds shop:pay shared reentered 1 0
distlock_wait_duration_seconds unnamed exclusive acquired 2 0
distlock_wait_duration_seconds unnamed exclusive closed 1 0
distlock_wait_duration_seconds unnamed exclusive unavailable 1 0`

// run is the known run.
type run struct {
	*testing.T
	store  *testkit.Store
	locker *distlock.Locker
	gather func() []string
}

// want checks the lines that begin with one of the prefixes.
func (r *run) want(lines string, prefixes ...string) {
	r.Helper()
	got := slices.DeleteFunc(r.gather(), func(line string) bool {
		zero := strings.HasSuffix(line, " 0") && !strings.Contains(line, "_seconds ")
		return zero || !slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(line, prefix) })
	})
	slices.Sort(got)
	if got := "\n" + strings.Join(got, "\n"); got != lines {
		r.Errorf("got%s\nwant%s", got, lines)
	}
}

// waits: the store gives a lock to a holder, which re-enters it; three callers wait for it,
// others do not wait or give up, and it passes from one waiter to the next.
func (r *run) waits() {
	pay := distlock.Opts{Prefix: "shop:", Value: "pay"}
	first := r.acquire(r.Context(), pay)
	r.release(r.acquire(first.Context(), pay))
	r.release(r.acquire(first.Context(), distlock.Opts{Prefix: "shop:", Value: "pay", Mode: distlock.Shared}))

	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			lease := r.acquire(r.Context(), pay)
			time.Sleep(time.Second / 2)
			r.release(lease)
		})
	}
	synctest.Wait()
	r.want(`
distlock_held shop:pay exclusive 1
distlock_waiting shop:pay exclusive 3`, "distlock_held", "distlock_waiting")

	for _, o := range []distlock.Opts{{RetryCount: 1}, {MaxWait: time.Second / 4}} {
		o.Prefix, o.Value = pay.Prefix, pay.Value
		r.fails(r.Context(), o, distlock.CodeNotAcquired)
	}
	ctx, cancel := context.WithTimeout(r.Context(), time.Second/4)
	defer cancel()
	all.Go(func() { r.fails(ctx, pay, distlock.CodeNotAcquired) })
	synctest.Wait() // four wait
	r.fails(r.Context(), pay, distlock.CodeQueueFull)
	time.Sleep(3 * time.Second / 4)
	r.release(first)
	all.Wait()
}

// losses: one lease is lost and released later, one is found to be lost by its release, and
// one is lost and never released.
func (r *run) losses() {
	o := distlock.Opts{Value: "lost", MaxHold: time.Second / 2}
	lease := r.acquire(r.Context(), o)
	time.Sleep(time.Second)
	synctest.Wait()
	r.want(`
distlock_losses_total lost exclusive 1`, "distlock_held lost", "distlock_losses_total lost")
	r.fails(lease.Context(), o, distlock.CodeLost)
	_ = lease.Release(r.Context())

	lease = r.acquire(r.Context(), distlock.Opts{Value: "lost"})
	time.Sleep(time.Second)
	if held, err := admin.ForceRelease(r.Context(), r.locker, "k"); !held || err != nil {
		r.Error(held, err)
	}
	_ = lease.Release(r.Context())

	if _, err := r.locker.Acquire(r.Context(), "forgotten", o); err != nil {
		r.Error(err)
	}
	time.Sleep(time.Second)
}

// renewals: two fail and the third succeeds; one is of a lease that two readers share.
func (r *run) renewals() {
	failed := 0
	r.store.Before(func(_ context.Context, c *testkit.Call) error {
		if c.Op != testkit.Renew || failed == 2 {
			return nil
		}
		failed++
		return testkit.ErrSilent
	})
	lease := r.acquire(r.Context(), distlock.Opts{Value: "job", KeyTimeout: 3 * time.Second})
	time.Sleep(2 * time.Second)
	r.release(lease)

	readers := distlock.Opts{Value: "job", KeyTimeout: 3 * time.Second, Mode: distlock.Shared}
	one, two := r.acquire(r.Context(), readers), r.acquire(r.Context(), readers)
	r.fails(one.Context(), distlock.Opts{Value: "job"}, distlock.CodeUpgrade)
	synctest.Wait()
	r.want("\ndistlock_held job shared 2", "distlock_held job")
	time.Sleep(3 * time.Second / 2)
	r.release(one)
	r.release(two)
}

// failures: the store does not answer, and all permits of a semaphore are in use.
func (r *run) failures() {
	once := distlock.Opts{RetryCount: 1}
	lease := r.acquire(r.Context(), once)
	r.store.Fail(testkit.ErrBroken, testkit.Try, testkit.Release)
	_ = lease.Release(r.Context())
	r.fails(r.Context(), once, distlock.CodeUnavailable)
	r.store.Fail(nil)
	time.Sleep(time.Minute)

	pool := distlock.Opts{Value: "pool", Permits: 2, RetryCount: 1}
	one, two := r.acquire(r.Context(), pool), r.acquire(r.Context(), pool)
	r.fails(r.Context(), pool, distlock.CodeNotAcquired)
	r.release(one)
	r.release(two)
}

// sets: several keys together, then again when one of them is busy; and a term of a leader.
func (r *run) sets() {
	o := distlock.Opts{Value: "all", RetryCount: 1}
	set, err := testkit.AcquireAll(r.Context(), r.locker, []string{"a", "b", "c"}, o)
	if err != nil {
		r.Fatal(err)
	}
	if _, err := testkit.AcquireAll(r.Context(), r.locker, []string{"0", "b", "d"}, o); distlock.CodeOf(err) != distlock.CodeNotAcquired {
		r.Error(err)
	}
	time.Sleep(time.Second)
	if err := set.Release(); err != nil {
		r.Error(err)
	}
	_ = r.locker.Lead(r.Context(), "k", distlock.Opts{Value: "lead"}, func(context.Context) error {
		time.Sleep(time.Second)
		return errors.New("enough")
	})
}

// close: the Locker is closed while a lease is held.
func (r *run) close() {
	lease := r.acquire(r.Context(), distlock.Opts{})
	time.Sleep(time.Second)
	time.AfterFunc(time.Second, func() { _ = lease.Release(r.Context()) })
	_ = r.locker.Close()
	r.fails(r.Context(), distlock.Opts{}, distlock.CodeClosed)
	synctest.Wait()
}

func (r *run) acquire(ctx context.Context, o distlock.Opts) *distlock.Lease {
	r.Helper()
	o.Prefix, o.Value = "", o.Prefix+o.Value // the key is the same for all names
	lease, err := r.locker.Acquire(ctx, "k", o)
	if err != nil {
		r.Fatal(err)
	}
	return lease
}

func (r *run) fails(ctx context.Context, o distlock.Opts, code distlock.Code) {
	r.Helper()
	o.Prefix, o.Value = "", o.Prefix+o.Value
	if _, err := r.locker.Acquire(ctx, "k", o); distlock.CodeOf(err) != code {
		r.Errorf("%v, want %v", err, code)
	}
}

func (r *run) release(lease *distlock.Lease) {
	r.Helper()
	if err := lease.Release(r.Context()); err != nil {
		r.Error(err)
	}
}
