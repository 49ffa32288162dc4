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

// Opts declares how something is locked. It is the annotation: one plain
// struct, copied when it is given to a decorator, whose zero value works except
// that decorators need a Value.
type Opts struct {
	// Prefix and Value make the key: Prefix + Value, then ":" and a digest of
	// the parameters if these take part. Decorators require Value; where the key
	// is an argument ([Locker.Do]), the full key is Prefix + key and Value may be
	// empty. Prefix + Value is also the name that [Hooks] see, fit to be a metric
	// label because callers do not choose it; "unnamed" if both are empty.
	Prefix string
	Value  string

	// ParamLock makes the parameters part of the key, so each request locks only what it
	// is about. The default is one lock for the whole function. Where the caller gives
	// the key ([Locker.Do]), ParamLock, Params and Hasher are refused.
	ParamLock bool

	// Params selects the part of the request that takes part; see [By]. The
	// default is the whole request, less struct fields tagged `lock:"-"`, or, if
	// any field is tagged `lock:"key"`, those fields alone: see [KeyBuilder]. Setting Params
	// without ParamLock is refused.
	Params Selector

	// Hasher turns the encoded parameters into the key's last part. The default
	// is [Config].Hasher, and the default of that is SHA-256 cut to 128 bits, in
	// hex.
	Hasher Hasher

	// KeyTimeout is the lease: how long the key outlives a crashed holder. The
	// watchdog renews it every third of its length. The default is
	// [DefaultKeyTimeout]; whole milliseconds, at least one. A backend may limit
	// it, and MinHold too.
	KeyTimeout time.Duration

	// RetryCount is the number of attempts. 1 tries once and never waits, for work
	// that another caller may already be doing. The default, 0, means no limit: the
	// call waits until MaxWait is over or the context ends. How long a larger number
	// takes depends on RetryInterval and on chance; use MaxWait to limit the time.
	RetryCount int

	// RetryInterval is the base of the wait between attempts, which is uniform
	// in [RetryInterval, 2*RetryInterval). It adds no latency: a release in this
	// process wakes the next waiter at once, and so does a release in another process
	// if the backend is a [driver.Queuer]. It limits how late a waiter notices a change that
	// no message reported, and it is how often a backend that is not a Queuer is
	// asked. Choose it a little longer than the function usually runs. The default is
	// [DefaultRetryInterval].
	RetryInterval time.Duration

	// MaxWait limits the wait for the lock, however long the function takes
	// afterwards; a deadline of ctx would end the function, too. It includes all
	// waiting: in this process, in the store, and for a store that fails. The wait
	// then ends with [ErrNotAcquired], and with [ErrUnavailable] as well if the store
	// failed. An operation of the store that is in progress then may take half a
	// second more. The default, 0, means no limit; at least a millisecond.
	MaxWait time.Duration

	// Mode says who may hold the key at the same time: Exclusive, which keeps
	// everybody else out, or Shared, as a reader beside other readers. First come
	// first served: a reader waits behind a writer that waits. In one process many
	// readers ride on one lease in the store, with a token of their own each, if
	// they have the same KeyTimeout; those with MaxHold, MinHold or NoWatchdog take
	// leases of their own. The backend must support sharing; if it does not, decorators
	// panic and everything else fails. The default is Exclusive.
	Mode Mode

	// Permits above 0 makes the key a semaphore, which that many may hold at the
	// same time in the whole fleet, each with a lease of its own. All who use the
	// key should ask for the same number, at most 1,000,000; with different ones,
	// each caller gets a permit while fewer than its own number are in use. Tokens do
	// not show which holder came later: see [Lease.Token]. A re-entry takes no second
	// permit. Not with Mode Shared; the backend must support sharing. The
	// default, 0, is no semaphore.
	Permits int

	// MaxHold ends a lease this long after it was acquired, however healthy:
	// the watchdog stops renewing, the context is cancelled with [ErrLost]. It
	// keeps a function that hangs from holding its key for ever. The default is
	// no such limit.
	MaxHold time.Duration

	// MinHold keeps the key at least this long after it was acquired, even if
	// the function returns earlier: it runs once per period in the whole fleet,
	// although it is quick and clocks differ. The lease ends with the function
	// all the same; what stays is the key in the store. After a crash it ends with
	// KeyTimeout, and after a loss nobody can keep it. A re-entry keeps the key
	// for as long as the outer call says. At most MaxHold, if both are set. The
	// default is to give the key back at once. The idea is ShedLock's
	// lockAtLeastFor.
	MinHold time.Duration

	// Fencing demands a fencing token: if the backend has none to give, the
	// acquisition fails at once with [ErrNoFencing]. Set it where the resource
	// checks [Lease.Token], which would otherwise be 0 for everybody. The
	// default is to take the lock with or without.
	Fencing bool

	// NoWatchdog makes the lease a fixed one: it ends after KeyTimeout unless
	// [Lease.Refresh] extends it.
	NoWatchdog bool

	// MaxWaiters is how many goroutines of this process may wait for one key;
	// one more gets [ErrQueueFull]. The default is [DefaultMaxWaiters].
	// [Config].MaxWaiters is the limit for all keys together.
	MaxWaiters int
}

// Validate reports every field that a decorator would refuse with a panic, each
// by name and value. It is meant for options that come from a file.
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

// validateNumbers checks the fields that matter for every use. It allocates only if something is wrong.
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

// validatePermits checks how many may hold the key at the same time.
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

// maxPermits bounds what a store has to remember for one key.
const maxPermits = 1_000_000

// maxDuration keeps sums of durations far from overflow. Nobody means a lease
// of more than a year.
const maxDuration = 366 * 24 * time.Hour

// withDefaults returns o with the zero fields filled in and the lease cut to
// whole milliseconds, the unit that stores count in.
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

// name is what hooks call the lock.
func (o *Opts) name() string {
	if name := o.Prefix + o.Value; name != "" {
		return name
	}
	return "unnamed" // never the key, which callers choose
}

// start starts the wait budget of an acquisition.
func (o *Opts) start(b *backoff.Budget) { b.Start(o.RetryInterval, o.RetryCount, o.MaxWait) }
