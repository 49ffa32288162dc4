// Package adaptertest is the suite for adapters: what a lock of another library does
// when it is a lock of distlock. Only tests import it.
package adaptertest

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// Lease is the KeyTimeout of the locks.
const Lease = 2 * time.Second

// opts are the options that Open gets.
var opts = distlock.Opts{Prefix: "app:", KeyTimeout: Lease}

// Adapter is a lock of another library.
type Adapter struct {
	// Name is the name of the subtests.
	Name string

	// Key is the key in the store, with the Prefix "app:".
	Key string

	// Open wires the lock, as a process does when it starts.
	Open func(l *distlock.Locker, o distlock.Opts) Run

	// Skips is set if the lock does not wait while another has it.
	Skips bool

	// Untold is set if the library tells its job nothing: neither a loss nor the end of
	// ctx.
	Untold bool
}

// Job is what runs under the lock. It may run on any goroutine.
type Job = func(ctx context.Context) error

// Run locks and unlocks as the library does, and runs the job in between. It returns
// what the user of the library learns. A lock that is skipped is
// [distlock.ErrNotAcquired].
type Run func(ctx context.Context, job Job) error

// Main is for TestMain. The test binary is also the process that [Test] kills.
func Main(m *testing.M, adapters ...Adapter) {
	roles := map[string]func(*testkit.Child) error{}
	for _, a := range adapters {
		roles[a.Name] = a.beHolder
	}
	testkit.BeChild(roles)
	os.Exit(m.Run())
}

// Test runs all cases for each adapter, which Main has to know.
func Test(t *testing.T, adapters ...Adapter) {
	t.Helper()
	for _, a := range adapters {
		for name, test := range map[string]func(*bench){
			"lock": (*bench).testLock, "unlock": (*bench).testUnlock, "lost": (*bench).testLost,
			"store away": (*bench).testAway, "cancelled": (*bench).testCancelled, "wiring": (*bench).testWiring,
		} {
			testkit.InBubble(t, a.Name+"/"+name, func(t *testing.T) {
				b := &bench{T: t, of: a, store: testkit.NewStore()}
				b.locker = testkit.NewLocker(t, b.store, distlock.Config{})
				b.other = testkit.NewLocker(t, b.store.Memory(), distlock.Config{})
				t.Cleanup(func() { _, _ = admin.ForceRelease(context.Background(), b.other, a.Key) }) // or a test that failed would not end
				test(b)
			})
		}
		t.Run(a.Name+"/killed", a.testKilled)
	}
}

// bench is a process with the adapter, beside another one without, in virtual time.
type bench struct {
	*testing.T

	of     Adapter
	store  *testkit.Store // as the adapter's process reaches it
	locker *distlock.Locker
	other  *distlock.Locker // of the other process, which no fault hits
	jobs   atomic.Int32     // that have begun
}

// run runs a job under the lock of a new process.
func (b *bench) run(ctx context.Context, job Job) error {
	return b.of.Open(b.locker, opts)(ctx, func(ctx context.Context) error {
		b.jobs.Add(1)
		return job(ctx)
	})
}

// start is run in the background.
func (b *bench) start(ctx context.Context, job Job) <-chan error {
	done := make(chan error, 1)
	go func() { done <- b.run(ctx, job) }()
	synctest.Wait()
	return done
}

// fail makes all calls of the adapter's process fail, or none.
func (b *bench) fail(on bool) {
	b.store.Before(nil)
	if on {
		b.store.Before(func(context.Context, *testkit.Call) error { return testkit.ErrBroken })
	}
}

// wantBusy checks that the other process does not get the key.
func (b *bench) wantBusy() {
	b.Helper()
	if held, err := b.other.TryAcquire(b.Context(), b.of.Key, distlock.Opts{}); !errors.Is(err, distlock.ErrNotAcquired) {
		b.Errorf("the other process: %v, want not acquired", err)
		b.release(held)
	}
}

// take acquires the key for the other process, which must get it within d. The result is nil
// if it does not.
func (b *bench) take(d time.Duration) *distlock.Lease {
	b.Helper()
	start := time.Now()
	held, err := b.other.Acquire(b.Context(), b.of.Key, distlock.Opts{MaxWait: time.Minute})
	if took := time.Since(start); err != nil || took > d {
		b.Errorf("the other process got the key after %v, want %v: %v", took, d, err)
	}
	return held
}

// release releases what take has returned, and checks that it was not lost.
func (b *bench) release(held *distlock.Lease) {
	b.Helper()
	if held != nil {
		testkit.WantIs(b.T, held.Release(b.Context()))
	}
}

// wantFree checks that the other process gets the key within d.
func (b *bench) wantFree(d time.Duration) {
	b.Helper()
	b.release(b.take(d))
}

// wantTold waits until the job is told of a loss, which takes less than a lease.
func (b *bench) wantTold(ctx context.Context) {
	b.Helper()
	if b.of.Untold {
		time.Sleep(Lease)
		return
	}
	select {
	case <-ctx.Done():
		if cause := context.Cause(ctx); !errors.Is(cause, distlock.ErrLost) {
			b.Errorf("the job's context has ended with %v", cause)
		}
	case <-time.After(Lease):
		b.Error("the job is not told that the lock is lost")
	}
}
