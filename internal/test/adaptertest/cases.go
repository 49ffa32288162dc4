package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// testLock: a busy lock is waited for, or skipped. The job then has the key, for much
// longer than a lease.
func (b *bench) testLock() {
	held := b.take(0)
	var began time.Time
	job := func(ctx context.Context) error {
		began = time.Now()
		b.wantBusy()
		time.Sleep(10 * Lease)
		b.wantBusy()
		if ctx.Err() != nil {
			b.Errorf("the job is told of %v, and has the lock", context.Cause(ctx))
		}
		return nil
	}
	done := b.start(b.Context(), job)
	if skipped := len(done) > 0; skipped != b.of.Skips {
		b.Errorf("a busy lock is skipped: %t, want %t", skipped, b.of.Skips)
	}
	time.Sleep(time.Minute)
	if b.jobs.Load() != 0 {
		b.Errorf("%d jobs run without the lock", b.jobs.Load())
	}
	b.release(held)
	free := time.Now()
	if b.of.Skips {
		if err := <-done; !errors.Is(err, distlock.ErrNotAcquired) {
			b.Errorf("busy: %v, want not acquired", err)
		}
		done = b.start(b.Context(), job)
	}
	testkit.WantIs(b.T, <-done)
	if b.jobs.Load() != 1 || !began.Equal(free) {
		b.Errorf("%d jobs, %v after the release", b.jobs.Load(), began.Sub(free))
	}
}

// testUnlock: the key is free when the job has ended, also with an error, which is
// passed on.
func (b *bench) testUnlock() {
	own := errors.New("no paper")
	for _, want := range []error{nil, own, nil} {
		if err := b.run(b.Context(), func(context.Context) error { return want }); !errors.Is(err, want) {
			b.Errorf("%v, want %v", err, want)
		}
		if b.wantFree(0); b.Failed() {
			return // the next one would wait for ever
		}
	}
}

// testLost: a job whose lock was taken away is told, and so is the user when it ends.
// The next holder keeps the key.
func (b *bench) testLost() {
	var next *distlock.Lease
	err := b.run(b.Context(), func(ctx context.Context) error {
		if held, err := admin.ForceRelease(context.WithoutCancel(ctx), b.other, b.of.Key); !held || err != nil {
			b.Error("force:", held, err)
		}
		next = b.take(0)
		b.wantTold(ctx)
		return nil
	})
	if !errors.Is(err, distlock.ErrLost) {
		b.Errorf("the user learns %v, want lost", err)
	}
	b.wantBusy()
	b.release(next)
	if b.Failed() {
		return // this process may not get the key again
	}
	testkit.WantIs(b.T, b.run(b.Context(), func(context.Context) error { return nil }))
}

// testAway: the store does not answer at Lock, later, and at Unlock.
func (b *bench) testAway() {
	ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
	defer cancel()
	b.fail(true)
	done := b.start(ctx, func(context.Context) error { return nil })
	time.Sleep(2 * time.Minute)
	if len(done) == 0 {
		b.Error("at Lock: it waits although its time is over")
	}
	b.fail(false)
	if err := <-done; b.jobs.Load() != 0 || err == nil || b.of.Skips && !errors.Is(err, distlock.ErrUnavailable) {
		b.Errorf("at Lock: %d jobs, %v", b.jobs.Load(), err)
	}
	err := b.run(b.Context(), func(ctx context.Context) error {
		b.fail(true)
		next := make(chan *distlock.Lease, 1)
		go func() { next <- b.take(Lease) }()
		b.wantTold(ctx)
		if !b.of.Untold && len(next) > 0 {
			b.Error("the job is told when another has the key already")
		}
		b.release(<-next)
		return nil
	})
	if !errors.Is(err, distlock.ErrLost) {
		b.Errorf("later: the user learns %v, want lost", err)
	}
	b.fail(false)
	_ = b.run(b.Context(), func(context.Context) error { b.fail(true); return nil })
	b.wantFree(Lease)
	b.fail(false)
}

// testCancelled: the context ends before Lock, during it, and while the job runs, which
// keeps the key until it returns. Nothing is left in the store.
func (b *bench) testCancelled() {
	ctx, cancel := context.WithCancel(b.Context())
	cancel()
	if err := b.run(ctx, func(context.Context) error { return nil }); err == nil || b.jobs.Load() != 0 {
		b.Errorf("before: %d jobs, %v", b.jobs.Load(), err)
	}
	b.wantFree(0)
	if !b.of.Skips {
		ctx, cancel = context.WithCancel(b.Context())
		held := b.take(0)
		done := b.start(ctx, func(context.Context) error { return nil })
		cancel()
		synctest.Wait()
		if len(done) == 0 {
			b.Error("during Lock: it waits on")
		}
		b.release(held)
		if err := <-done; err == nil || b.jobs.Load() != 0 {
			b.Errorf("during Lock: %d jobs, %v", b.jobs.Load(), err)
		}
		b.wantFree(0)
	}
	ctx, cancel = context.WithCancel(b.Context())
	err := b.run(ctx, func(ctx context.Context) error {
		cancel()
		time.Sleep(3 * Lease)
		b.wantBusy()
		if !b.of.Untold && !errors.Is(context.Cause(ctx), context.Canceled) {
			b.Errorf("the job's context: %v", context.Cause(ctx))
		}
		return nil
	})
	if errors.Is(err, distlock.ErrLost) {
		b.Errorf("later: %v", err)
	}
	b.wantFree(0)
}

// testWiring: options under which every Lock would fail are refused when the program
// starts.
func (b *bench) testWiring() {
	defer func() {
		if recover() == nil {
			b.Error("no panic")
		}
	}()
	bad := opts
	bad.MaxHold = -1
	_ = b.of.Open(b.locker, bad)(b.Context(), func(context.Context) error { return nil })
}

// testKilled kills the process of a job. The next one gets the lock when the lease is
// over.
func (a Adapter) testKilled(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	killed := testkit.StartChild(t, a.Name, server.Addr())
	killed.Hear("runs")
	l := testkit.NewLocker(t, redislock.New(server.Client(t), redislock.Config{}), distlock.Config{})
	next := a.Open(l, opts)
	ran := make(chan bool, 1)
	lock := func() error {
		return next(t.Context(), func(context.Context) error { ran <- true; return nil })
	}
	done := make(chan error, 1)
	if a.Skips {
		if err := lock(); !errors.Is(err, distlock.ErrNotAcquired) {
			t.Errorf("while the other process has it: %v", err)
		}
	} else {
		go func() { done <- lock() }()
		testkit.Eventually(t, "the next process waits", Waited(l, a.Key))
	}
	killed.Kill()
	if len(ran) > 0 {
		t.Error("both have the lock")
	}
	for start := time.Now(); a.Skips && len(ran) == 0; {
		if err := lock(); err == nil {
			done <- nil
		} else if !errors.Is(err, distlock.ErrNotAcquired) || time.Since(start) > testkit.Patience {
			t.Fatal(err)
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Waited returns a function that reports whether somebody waits for a key.
func Waited(l *distlock.Locker, key string) func() bool {
	return func() bool {
		found, err := admin.Inspect(context.Background(), l, key, 1)
		return err == nil && len(found) == 1 && found[0].Waiting > 0
	}
}

// beHolder is a process whose job does not end.
func (a Adapter) beHolder(c *testkit.Child) error {
	var addr string
	if err := c.Decode(&addr); err != nil {
		return err
	}
	l := distlock.New(redislock.New(redis.NewClient(&redis.Options{Addr: addr}), redislock.Config{}), distlock.Config{})
	err := a.Open(l, opts)(context.Background(), func(context.Context) error {
		c.Say("runs")
		select {}
	})
	return fmt.Errorf("it was not killed: %w", err)
}
