package distlock

import (
	"errors"
	"time"

	"github.com/distlock-go/distlock/internal/backoff"
)

// Defaults of [Opts].
const (
	DefaultKeyTimeout    = 10 * time.Second
	DefaultRetryInterval = 500 * time.Millisecond
	DefaultMaxWaiters    = 10_000
)

// Opts declares how something is locked. A decorator copies it. All fields are
// optional, except that decorators need a Value.
type Opts struct {
	// Prefix and Value make the key: Prefix + Value, then ":" and a digest of the
	// parameters if these take part. Decorators require Value. Where the caller gives
	// the key ([Locker.Do]), the full key is Prefix + key, and Value may be empty.
	//
	// Prefix + Value is also the name of the lock in [Hooks]. It is fit to be a metric
	// label, because strangers do not choose it. If both are empty, it is "unnamed".
	Prefix string
	Value  string

	// ParamLock makes the parameters part of the key, so that each request locks only
	// what it is about. The default is one lock for the whole function. Where the
	// caller gives the key ([Locker.Do]), ParamLock, Params and Hasher are refused.
	ParamLock bool

	// Params selects the part of the request that takes part in the key; see [By]. The
	// default is the whole request without the struct fields tagged `lock:"-"`. If
	// fields are tagged `lock:"key"`, it is those fields only; see [KeyBuilder]. Params
	// without ParamLock is refused.
	Params Selector

	// Hasher turns the encoded parameters into the last part of the key. The default is
	// [Config].Hasher; its default is SHA-256 cut to 128 bits, in hex.
	Hasher Hasher

	// KeyTimeout is the lease: how long the key remains after a crash of its holder.
	// The watchdog renews it every third of its length. The default is
	// [DefaultKeyTimeout]. The unit is the millisecond, and the least value is one. A
	// backend may limit KeyTimeout and MinHold.
	KeyTimeout time.Duration

	// RetryCount is the number of attempts. 1 tries once and never waits, for work that
	// another caller may already be doing. The default, 0, means no limit: the call
	// waits until MaxWait is over or the context ends. The time for a larger number
	// depends on RetryInterval and on chance; use MaxWait to limit the time.
	RetryCount int

	// RetryInterval is the base of the wait between attempts, which is uniform in
	// [RetryInterval, 2*RetryInterval). It adds no latency: a release in this process
	// wakes the next waiter at once. So does a release in another process if the backend
	// is a [driver.Queuer]. RetryInterval limits how late a waiter notices a change
	// without a message, and it is the time between requests to a backend that is not a
	// Queuer. Choose it a little longer than the function usually runs. The default is
	// [DefaultRetryInterval].
	RetryInterval time.Duration

	// MaxWait limits the wait for the lock, but not the time of the function; a deadline
	// of ctx would limit both. It includes all waiting: in this process, in the store,
	// and for a store that fails. The wait then ends with [ErrNotAcquired], and also
	// with [ErrUnavailable] if the store failed. A request to the store that is in
	// progress may take half a second more. The default, 0, means no limit; the least
	// value is a millisecond.
	MaxWait time.Duration

	// Mode is Exclusive, for one holder, or Shared, for any number of readers. Waiters
	// are served in order: a reader waits behind a writer that waits. In one process,
	// readers with the same KeyTimeout share one lease in the store, each with its own
	// token; a reader with MaxHold, MinHold or NoWatchdog takes its own lease. The
	// backend must support sharing; if it does not, decorators panic and all other
	// calls fail. The default is Exclusive.
	Mode Mode

	// Permits above 0 makes the key a semaphore: so many holders in all processes may
	// have it at the same time, each with its own lease. The number should be the same
	// in all calls for the key, and is at most 1,000,000. If the numbers differ, a call
	// gets a permit while fewer than its own number are in use. Tokens do not show which
	// holder came later; see [Lease.Token]. A re-entry takes no second permit. Permits
	// with Mode Shared is refused. The backend must support sharing. The default, 0, is
	// not a semaphore.
	Permits int

	// MaxHold ends a lease this long after it was acquired, even if it can be renewed:
	// the watchdog stops, and the context is cancelled with [ErrLost]. So a function
	// that hangs does not keep its key. The default is no limit.
	MaxHold time.Duration

	// MinHold keeps the key in the store at least this long after it was acquired, even
	// if the function returns earlier. So a job runs once per period in all processes,
	// even if it is quick and clocks differ. The lease still ends with the function.
	// After a crash the key ends with KeyTimeout; a lost key cannot be kept. In a
	// re-entry the MinHold of the outer call counts. MinHold is at most MaxHold, if both
	// are set. The default is to give the key back at once. The idea is lockAtLeastFor
	// of ShedLock.
	MinHold time.Duration

	// Fencing demands a fencing token: if the backend has none, the call fails at once
	// with [ErrNoFencing]. Set it where the resource checks [Lease.Token], which would
	// otherwise be 0 for all holders. The default is to take the lock without a token.
	Fencing bool

	// NoWatchdog makes the lease end after KeyTimeout, unless [Lease.Refresh] extends
	// it.
	NoWatchdog bool

	// MaxWaiters is how many goroutines of this process may wait for one key; the next
	// gets [ErrQueueFull]. The default is [DefaultMaxWaiters]. [Config].MaxWaiters is
	// the limit for all keys together.
	MaxWaiters int
}

// Validate reports all fields that a decorator would refuse with a panic, each with
// its name and value. It is for options that come from a file.
func (o Opts) Validate() error {
	base := o.Prefix + o.Value
	errs := []error{validateBase(base), o.Params.err}
	if o.Value == "" {
		errs = append(errs, fieldErrorf("Value", "is empty"))
	}
	if o.Params.isSet() && !o.ParamLock {
		errs = append(errs, fieldErrorf("Params", "is set but %v is false", fieldName("ParamLock")))
	}
	if f, ok := o.Hasher.(HasherFunc); ok && f == nil {
		errs = append(errs, fieldErrorf("Hasher", "is a nil HasherFunc"))
	}
	if o.ParamLock {
		errs = append(errs, validateRoom(base, o.Hasher))
	}
	if err := errors.Join(append(errs, o.validateNumbers())...); err != nil {
		return &Error{Op: "options", Err: err}
	}
	return nil
}

// validateNumbers checks the fields that are valid in every use. It allocates only if
// something is wrong.
func (o *Opts) validateNumbers() error {
	var errs []error
	for _, d := range [...]struct {
		field string
		value time.Duration
	}{
		{"KeyTimeout", o.KeyTimeout},
		{"RetryInterval", o.RetryInterval},
		{"MaxWait", o.MaxWait},
		{"MaxHold", o.MaxHold},
		{"MinHold", o.MinHold},
	} {
		switch {
		case d.value < 0:
			errs = append(errs, fieldErrorf(d.field, "is negative: %v", d.value))
		case d.value > 0 && d.value < time.Millisecond:
			errs = append(errs, fieldErrorf(d.field, "is below one millisecond: %v", d.value))
		case d.value > maxDuration:
			errs = append(errs, fieldErrorf(d.field, "is above %v: %v", maxDuration, d.value))
		}
	}
	if o.MaxHold > 0 && o.MinHold > o.MaxHold {
		errs = append(errs, fieldErrorf("MinHold", "is above %v: %v, %v", fieldName("MaxHold"), o.MinHold, o.MaxHold))
	}
	if o.RetryCount < 0 {
		errs = append(errs, fieldErrorf("RetryCount", "is negative: %d", o.RetryCount))
	}
	if o.MaxWaiters < 0 {
		errs = append(errs, fieldErrorf("MaxWaiters", "is negative: %d", o.MaxWaiters))
	}
	if o.Mode != Exclusive && o.Mode != Shared {
		errs = append(errs, fieldErrorf("Mode", "is unknown: %v", o.Mode))
	}
	if err := o.validatePermits(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// validateGivenKey checks the options for a lock whose key the caller gives. It refuses
// the fields that make keys of parameters: if it ignored them, callers that ask for a
// lock per parameter would share one. It allocates only if something is wrong.
func (o *Opts) validateGivenKey() error {
	const advice = "is set, but the key is given, not made of parameters: use Wrap, or make the key with NewKeyBuilder"
	var errs []error
	if o.ParamLock {
		errs = append(errs, fieldErrorf("ParamLock", advice))
	}
	if o.Params.isSet() {
		errs = append(errs, fieldErrorf("Params", advice))
	}
	if o.Hasher != nil {
		errs = append(errs, fieldErrorf("Hasher", advice))
	}
	if err := o.validateNumbers(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// validatePermits checks the number of holders.
func (o *Opts) validatePermits() error {
	switch {
	case o.Permits < 0:
		return fieldErrorf("Permits", "is negative: %d", o.Permits)
	case o.Permits > maxPermits:
		return fieldErrorf("Permits", "is above %d: %d", maxPermits, o.Permits)
	case o.Permits > 0 && o.Mode == Shared:
		return fieldErrorf("Permits", "is set but %v is shared: %d", fieldName("Mode"), o.Permits)
	default:
		return nil
	}
}

// maxPermits limits the data that a store keeps for one key.
const maxPermits = 1_000_000

// maxDuration keeps sums of durations far from overflow. A lease of more than a year
// is a mistake.
const maxDuration = 366 * 24 * time.Hour

// withDefaults returns o with defaults in its zero fields. It cuts the lease to whole
// milliseconds, the unit of stores.
func (o Opts) withDefaults() Opts {
	if o.KeyTimeout == 0 {
		o.KeyTimeout = DefaultKeyTimeout
	}
	o.KeyTimeout = o.KeyTimeout.Truncate(time.Millisecond)
	if o.RetryInterval == 0 {
		o.RetryInterval = DefaultRetryInterval
	}
	if o.MaxWaiters == 0 {
		o.MaxWaiters = DefaultMaxWaiters
	}
	return o
}

// name returns the name of the lock in hooks.
func (o *Opts) name() string {
	if name := o.Prefix + o.Value; name != "" {
		return name
	}
	return "unnamed" // never the key, which strangers may choose
}

// start starts the wait budget of an acquisition.
func (o *Opts) start(b *backoff.Budget) { b.Start(o.RetryInterval, o.RetryCount, o.MaxWait) }
