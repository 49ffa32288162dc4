package distlock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// Locker takes locks from one [driver.Backend]. It is safe for concurrent use. Make one
// for each store and keep it as long as the process lives: re-entry and the queue in
// the process work within one Locker.
type Locker struct {
	engine
	shapes shapes
	given  keyBuilder // stands in shapes for keys from callers that do not begin with Value
}

// New returns a Locker that owns b. It panics if b is nil or cfg is invalid.
func New(b driver.Backend, cfg Config) *Locker {
	if b == nil {
		panic("distlock: New: nil Backend")
	}
	l := new(Locker)
	l.init(b, cfg.withDefaults())
	return l
}

// Do runs fn under the lock with the key opts.Prefix + key. The context of fn carries the
// [Lease]. If the lease is lost, the context is cancelled with cause [ErrLost]: fn
// should stop, and the outcome of its work is in doubt. Do releases the lock when fn
// returns, panics or calls [runtime.Goexit]. Below a function that runs under this key
// already, fn runs at once under the same lease. Set opts.Value, the name for [Hooks], to what
// the key is about.
//
// If the lock is not acquired, fn does not run, and the error is an [*Error]. Otherwise
// the error is what fn returned, and the loss of a lease is joined behind it: [Ran] tells
// both apart. A release that fails is no error; Hooks are told of it, and it goes on in the
// background. Commit a database transaction inside fn, before the next holder reads.
func (locker *Locker) Do(ctx context.Context, key string, opts Opts, fn func(ctx context.Context) error) (err error) {
	if fn == nil {
		return locker.refuse(ctx, opts.Prefix+key, &opts, noFunction(opts.Prefix+key))
	}
	s, err := locker.Acquire(ctx, key, opts)
	if err != nil {
		return err
	}
	defer s.finish(&err)
	return fn(&s.ctx)
}

// Call is [Locker.Do] for a function with a result. It returns the result even if the
// lease was lost; the error then says so.
func Call[T any](
	ctx context.Context, locker *Locker, key string, opts Opts, fn func(ctx context.Context) (T, error),
) (result T, err error) {
	if fn == nil {
		return result, locker.refuse(ctx, opts.Prefix+key, &opts, noFunction(opts.Prefix+key))
	}
	lease, err := locker.Acquire(ctx, key, opts)
	if err != nil {
		return result, err
	}
	defer lease.finish(&err)
	return fn(&lease.ctx)
}

// Acquire takes the lock with the key opts.Prefix + key, for code that cannot be a
// function for [Locker.Do]. The caller must release the lease and pass on its Context.
func (locker *Locker) Acquire(ctx context.Context, key string, opts Opts) (*Lease, error) {
	return locker.acquireAs(ctx, key, opts, false)
}

// acquireAs is Acquire, also for a candidate of Lead.
func (locker *Locker) acquireAs(ctx context.Context, key string, opts Opts, candidate bool) (*Lease, error) {
	full := opts.Prefix + key
	if err := locker.check(&opts, full); err != nil {
		return nil, locker.refuse(ctx, full, &opts, err)
	}
	opts = opts.withDefaults()
	a := locker.newAcquisition(ctx, full, &opts)
	a.candidate = candidate
	return a.run()
}

// check returns an error if locks with full keys from the caller cannot be taken under opts.
func (locker *Locker) check(opts *Opts, keys ...string) error {
	err := opts.validateGivenKey()
	if err == nil {
		err = locker.supports(opts)
	}
	if err != nil {
		refused := &Error{Op: "options", Err: err}
		if len(keys) == 1 {
			refused.Key = keys[0]
		}
		return refused
	}
	for _, key := range keys {
		if err := checkKey(key); err != nil {
			return err
		}
		if opts.Value != "" && !strings.HasPrefix(strings.TrimPrefix(key, opts.Prefix), opts.Value) {
			locker.shapes.note(opts.name(), &locker.given, -1)
		}
	}
	return nil
}

// supports returns an error if opts asks for what the backend cannot do.
func (locker *Locker) supports(opts *Opts) error {
	switch {
	case opts.Mode == Shared && !locker.features.Sharing:
		return fmt.Errorf("Mode is shared, but the backend %T does not support sharing", locker.backend)
	case opts.Permits > 0 && !locker.features.Sharing:
		return fmt.Errorf("Permits is %d, but the backend %T does not support sharing", opts.Permits, locker.backend)
	}
	d := cmp.Or(opts.KeyTimeout, DefaultKeyTimeout)
	switch {
	case d < locker.features.MinTTL:
		return fmt.Errorf("KeyTimeout is %v, but the backend %T needs at least %v", d, locker.backend, locker.features.MinTTL)
	case locker.features.MaxTTL == 0:
		return nil
	case d > locker.features.MaxTTL:
		return locker.tooLong("KeyTimeout", d)
	}
	if opts.MinHold > locker.features.MaxTTL {
		return locker.tooLong("MinHold", opts.MinHold)
	}
	return nil
}

func (locker *Locker) tooLong(field string, d time.Duration) error {
	return fmt.Errorf("%s is %v, but the backend %T keeps no key for longer than %v", field, d, locker.backend, locker.features.MaxTTL)
}

// TryAcquire is [Locker.Acquire] with RetryCount 1: one attempt, no wait.
func (locker *Locker) TryAcquire(ctx context.Context, key string, opts Opts) (*Lease, error) {
	opts.RetryCount = 1
	return locker.Acquire(ctx, key, opts)
}

// Adopt takes over the lease of a handle that [Lease.HandOff] has returned, if it has not ended
// and nobody else has adopted it. Otherwise the error wraps [ErrLost]. If the store does not
// answer in time, it also says that it is in doubt whether the handle is used up. The lock is
// then released in the background if this Locker has it.
//
// The key and its Permits are in the handle. So is KeyTimeout, unless opts has one. What the
// giver's MaxHold has left counts by the earlier of two clocks, and together with MaxHold of
// opts. Adopt does not wait for callers of this process that have the key or wait for it.
func (locker *Locker) Adopt(ctx context.Context, handle string, opts Opts) (*Lease, error) {
	h, err := parseHandle(handle, &opts)
	switch {
	case err != nil:
	case !locker.features.HandOff:
		err = locker.noHandOff()
	default:
		err = locker.check(&opts, h.Key)
	}
	if err != nil {
		if e := (*Error)(nil); !errors.As(err, &e) {
			err = &Error{Op: "options", Key: h.Key, Err: err}
		}
		return nil, locker.refuse(ctx, h.Key, &opts, err)
	}
	opts = opts.withDefaults()
	a := locker.newAcquisition(ctx, h.Key, &opts)
	a.handle = &h
	return a.run()
}

// Close refuses new work and ends waits, both with [ErrClosed]. It cancels the contexts of
// held leases, with a cause that matches [ErrLost] and ErrClosed. It waits up to
// [Config].CloseTimeout for their release and releases the rest. Then it closes the backend
// if it is an [io.Closer]. Without held leases it takes at most half a second, to clean up
// after earlier failures. Keys that [Opts].MinHold keeps stay in the store. Stop
// servers first, so no request is cut short. Only the first call does anything.
func (locker *Locker) Close() error {
	if !locker.life.close() {
		return nil
	}
	locker.queue.Close()
	for _, st := range locker.watchdog.watched() {
		_ = st.Lose(errClosed)
	}
	for _, s := range locker.leases.all() { // one that comes later sees that the Locker is closed
		s.ctx.end(errClosed)
	}
	timer := time.NewTimer(locker.cfg.CloseTimeout)
	defer timer.Stop()
	select {
	case <-locker.life.idle:
		timer.Reset(cleanupTimeout)
		select {
		case <-locker.life.clean:
		case <-timer.C:
		}
	case <-timer.C:
		locker.releaseAll()
	}
	locker.stop()
	locker.watchdog.done.Wait()
	if c, ok := locker.backend.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// releaseAll releases what is still held when Close has waited long enough.
func (locker *Locker) releaseAll() {
	var releases sync.WaitGroup
	slots := make(chan struct{}, 64)
	deadline := time.Now().Add(releaseTimeout)
	for _, st := range locker.watchdog.watched() {
		if time.Now().After(deadline) {
			break // the store does not answer; the leases run out by themselves
		}
		locker.watchdog.remove(st)
		slots <- struct{}{}
		releases.Go(func() {
			lease, _ := st.Holder()
			_ = locker.releaser.Once(st.LastGrant(), lease.keepUntil()) // no caller is left to be told
			<-slots
		})
	}
	releases.Wait()
}

// cleanupTimeout is how long Close waits for clean-up in the background when no lease
// is held any more. A store that works needs no longer; in a store that does not work,
// leases expire by themselves.
const cleanupTimeout = releaseTimeout / 4

var errClosed = fmt.Errorf("%w: %w", ErrLost, ErrClosed)
