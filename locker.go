package distlock

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/bridge"
	"github.com/distlock-go/distlock/internal/localqueue"
	"github.com/distlock-go/distlock/internal/owner"
)

// Config configures a [Locker]. Its zero value works.
type Config struct {
	// Hooks are told what happens. The default is none.
	Hooks Hooks

	// Hasher is the default of [Opts].Hasher; its own shows the parameters.
	Hasher Hasher

	// MaxWaiters limits how many goroutines of this process wait for one another, for all
	// keys together; the next one gets [ErrQueueFull]. One key has room for a fifth of them,
	// or for 10,000 if that is more. The first waiter for a key, which waits in the store, is
	// not counted. A waiter costs about 5 KB, so the default, 50,000, is about 250 MB. What
	// the waiter itself keeps comes on top of that, such as the body of a request.
	MaxWaiters int

	// CloseTimeout is how long [Locker.Close] waits for holders to release their leases.
	// The default is 5 seconds.
	CloseTimeout time.Duration

	// Holder is the name of this process in Inspect and in errors ("held by web-3/1432").
	// It has no effect on locking. It may be any text: characters other than ASCII letters,
	// digits and "-._/", which stores separate owners with, become "_", and what is beyond
	// 64 characters is cut off. The default is the host name and the process id; "-" means no name.
	Holder string

	// HandOverTime limits how long a lock passes from one holder in this process to the
	// next without going back to the store. It counts from when this process got the lock,
	// and does not end the last lease. Other processes wait meanwhile. So within this time a
	// process stops after 64 hand-overs, or after ten times what it costs to pass the lock to
	// another process, if that is longer. The default is 100 ms; -1 is never.
	HandOverTime time.Duration
}

const (
	defaultTotalWaiters = 50_000
	defaultCloseTimeout = 5 * time.Second
	defaultHandOverTime = 100 * time.Millisecond

	// minKeyWaiters is how many waiters a key has room for: see Config.MaxWaiters.
	minKeyWaiters = 10_000

	// maxKeys limits how many keys a process holds or waits for at the same time. Clients
	// choose keys, and each key costs memory here and in the store.
	maxKeys = 1 << 20
)

// withDefaults fills in the zero fields and panics for those that make no
// sense.
func (c Config) withDefaults() Config {
	switch {
	case c.MaxWaiters < 0:
		panic("distlock: Config.MaxWaiters is negative: " + strconv.Itoa(c.MaxWaiters))
	case c.CloseTimeout < 0:
		panic("distlock: Config.CloseTimeout is negative: " + c.CloseTimeout.String())
	case c.HandOverTime < -1:
		panic("distlock: Config.HandOverTime is below -1: " + c.HandOverTime.String())
	}
	c.MaxWaiters = cmp.Or(c.MaxWaiters, defaultTotalWaiters)
	c.CloseTimeout = cmp.Or(c.CloseTimeout, defaultCloseTimeout)
	c.HandOverTime = cmp.Or(c.HandOverTime, defaultHandOverTime)
	switch c.Holder {
	case "":
		c.Holder = owner.DefaultHolder()
	case "-":
		c.Holder = ""
	default:
		c.Holder = owner.Name(c.Holder)
	}
	return c
}

// Locker takes locks from one [driver.Backend]. It is safe for concurrent use. Make one
// for each store and keep it as long as the process lives: re-entry and the queue in
// the process work within one Locker.
type Locker struct {
	backend  driver.Backend
	queuer   driver.Queuer   // backend, if it has the ability
	extender driver.Extender // the same
	waker    driver.Waker    // the same
	revoker  driver.Revoker  // the same
	features driver.Features
	cfg      Config
	queue    *localqueue.Queue[*leaseState]
	watchdog *watchdog
	life     *lifetime
	releaser *releaser
	reports  sync.Pool // of *waitReport
	shapes   shapes
	stop     context.CancelFunc // ends what the watchdog and the releaser have in progress

	ownerSuffix string // "@" and Config.Holder, or nothing
}

// New returns a Locker that owns b. It panics if b is nil or cfg is invalid.
func New(b driver.Backend, cfg Config) *Locker {
	if b == nil {
		panic("distlock: New: nil Backend")
	}
	cfg = cfg.withDefaults()
	ctx, stop := context.WithCancel(context.Background()) //nolint:forbidigo // belongs to no call: ended by Close
	l := &Locker{
		backend:  b,
		cfg:      cfg,
		queue:    localqueue.New[*leaseState](maxKeys, cfg.MaxWaiters),
		watchdog: newWatchdog(ctx, b, &cfg.Hooks),
		life:     newLifetime(),
		stop:     stop,
	}
	l.releaser = newReleaser(ctx, b, l.life)
	l.watchdog.ended = l.letGo
	if cfg.Holder != "" {
		l.ownerSuffix = "@" + cfg.Holder
	}
	l.queuer, _ = b.(driver.Queuer)
	l.extender, _ = b.(driver.Extender)
	l.waker, _ = b.(driver.Waker)
	l.revoker, _ = b.(driver.Revoker)
	l.features = b.Features()
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
// the error is that of fn, with that of a lost lease joined behind it: [Ran] tells both
// apart. A release that fails is no error; Hooks are told of it, and it goes on in the
// background. Commit a database transaction inside fn, before the next holder reads.
func (l *Locker) Do(ctx context.Context, key string, opts Opts, fn func(ctx context.Context) error) (err error) {
	if fn == nil {
		return l.refuse(ctx, opts.Prefix+key, &opts, noFunction(opts.Prefix+key))
	}
	s, err := l.Acquire(ctx, key, opts)
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
func (l *Locker) Acquire(ctx context.Context, key string, opts Opts) (*Lease, error) {
	return l.acquireAs(ctx, key, opts, false)
}

// acquireAs is Acquire, also for a candidate of Lead.
func (l *Locker) acquireAs(ctx context.Context, key string, opts Opts, candidate bool) (*Lease, error) {
	full := opts.Prefix + key
	if err := l.check(&opts, full); err != nil {
		return nil, l.refuse(ctx, full, &opts, err)
	}
	opts = opts.withDefaults()
	a := acquisition{locker: l, ctx: ctx, key: full, opts: opts, candidate: candidate}
	opts.start(&a.budget)
	return a.run()
}

// check returns an error if locks with full keys from the caller cannot be taken under opts.
func (l *Locker) check(opts *Opts, keys ...string) error {
	err := opts.validateGivenKey()
	if err == nil {
		err = l.supports(opts)
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
	}
	return nil
}

// supports returns an error if opts asks for what the backend cannot do.
func (l *Locker) supports(opts *Opts) error {
	switch {
	case opts.Mode == Shared && !l.features.Sharing:
		return fmt.Errorf("Mode is shared, but the backend %T does not support sharing", l.backend)
	case opts.Permits > 0 && !l.features.Sharing:
		return fmt.Errorf("Permits is %d, but the backend %T does not support sharing", opts.Permits, l.backend)
	}
	d := cmp.Or(opts.KeyTimeout, DefaultKeyTimeout)
	switch {
	case d < l.features.MinTTL:
		return fmt.Errorf("KeyTimeout is %v, but the backend %T needs at least %v", d, l.backend, l.features.MinTTL)
	case l.features.MaxTTL == 0:
		return nil
	case d > l.features.MaxTTL:
		return l.tooLong("KeyTimeout", d)
	}
	if opts.MinHold > l.features.MaxTTL {
		return l.tooLong("MinHold", opts.MinHold)
	}
	return nil
}

func (l *Locker) tooLong(field string, d time.Duration) error {
	return fmt.Errorf("%s is %v, but the backend %T keeps no key for longer than %v", field, d, l.backend, l.features.MaxTTL)
}

// TryAcquire is [Locker.Acquire] with RetryCount 1: one attempt, no wait.
func (l *Locker) TryAcquire(ctx context.Context, key string, opts Opts) (*Lease, error) {
	opts.RetryCount = 1
	return l.Acquire(ctx, key, opts)
}

// Close refuses new work and ends waits, both with [ErrClosed]. It cancels the contexts of
// held leases, with a cause that matches [ErrLost] and ErrClosed. It waits up to
// [Config].CloseTimeout for their release and releases the rest. Then it closes the backend
// if it is an [io.Closer]. Without held leases it takes at most half a second, to clean up
// after earlier failures. Keys that [Opts].MinHold keeps stay in the store. Stop
// servers first, so no request is cut short. Only the first call does anything.
func (l *Locker) Close() error {
	leases, first := l.life.close()
	if !first {
		return nil
	}
	l.queue.Close()
	for _, st := range l.watchdog.watched() {
		_ = st.Lose(errClosed)
	}
	for _, s := range leases {
		s.cancel(errClosed) // ends the waits in the store's queue
	}
	timer := time.NewTimer(l.cfg.CloseTimeout)
	defer timer.Stop()
	select {
	case <-l.life.idle:
		timer.Reset(cleanupTimeout)
		select {
		case <-l.life.clean:
		case <-timer.C:
		}
	case <-timer.C:
		l.releaseAll()
	}
	l.stop()
	l.watchdog.done.Wait()
	if c, ok := l.backend.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

var errClosed = fmt.Errorf("%w: %w", ErrLost, ErrClosed)

// What packages wiring and admin need of this package.
func init() {
	bridge.Site = func(locker *Locker, name string, opts Opts) any { return newSite(locker, name, opts) }
	bridge.RefusedOptions = refusedOptions
	bridge.Key = func(opts Opts, params any) (string, error) {
		keys, err := newKeyBuilder(opts)
		if err != nil {
			return "", err
		}
		return keys.Key(params)
	}
	bridge.CheckKey = checkKey
	bridge.Finish = (*Lease).finish
	bridge.Unavailable = unavailable
	bridge.Operate = func(locker *Locker, f func(driver.Backend) error) error {
		if !locker.life.begin() {
			return ErrClosed
		}
		defer locker.life.done(nil)
		return f(locker.backend)
	}
	bridge.Waiting = func(locker *Locker, key string) int { return locker.queue.Waiting(key) }
	bridge.Owner = func(lease *Lease) string { return lease.state.Grant().Owner }
	bridge.Kept = (*Locker).kept
	bridge.Taken = (*Locker).taken
}
