package distlock

import (
	"errors"
	"fmt"
	"strconv"
	"time"
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
	// label because no caller chooses it.
	Prefix string
	Value  string

	// ParamLock lets the parameters take part in the key, so that each request
	// locks its own thing. The default is one lock for the whole function.
	ParamLock bool

	// Params selects the part of the request that takes part; see [By]. The
	// default is the whole request, less struct fields tagged `lock:"-"`, or, if
	// any field is tagged `lock:"key"`, those fields alone: see [KeyBuilder]. Setting Params
	// without ParamLock is refused.
	Params ParamFunc

	// Hasher turns the encoded parameters into the key's last part. The default
	// is [Config].Hasher, and the default of that is SHA-256 cut to 128 bits, in
	// hex.
	Hasher Hasher

	// KeyTimeout is the lease: how long the key outlives a crashed holder. The
	// watchdog renews it every third of its length. The default is
	// [DefaultKeyTimeout]; whole milliseconds, at least one.
	KeyTimeout time.Duration

	// RetryCount is the number of attempts: 1 tries once and never waits. The
	// default, 0, waits until the context ends: the function must run.
	RetryCount int

	// RetryInterval is the base of the wait between attempts, which is uniform
	// in [RetryInterval, 2*RetryInterval). It bounds how late a waiter notices
	// what no message told it. Best a little longer than the function usually
	// runs. The default is [DefaultRetryInterval].
	RetryInterval time.Duration

	// MaxHold ends a lease this long after it was acquired, however healthy:
	// the watchdog stops renewing, the context is cancelled with [ErrLost]. It
	// keeps a function that hangs from holding its key for ever. The default is
	// no such limit.
	MaxHold time.Duration

	// NoWatchdog makes the lease a fixed one: it ends after KeyTimeout unless
	// [Lease.Refresh] extends it.
	NoWatchdog bool

	// MaxWaiters is how many goroutines of this process may wait for one key;
	// one more gets [ErrQueueFull]. The default is [DefaultMaxWaiters].
	MaxWaiters int
}

// Validate reports every field that a decorator would refuse with a panic, each
// by name and value. It is meant for options that come from a file.
func (o Opts) Validate() error {
	base := o.Prefix + o.Value
	errs := []error{validateBase(base), o.Params.err}
	if o.Value == "" {
		errs = append(errs, errors.New("Value is empty"))
	}
	if o.Params.isSet() && !o.ParamLock {
		errs = append(errs, errors.New("Params is set but ParamLock is false"))
	}
	if f, ok := o.Hasher.(HasherFunc); ok && f == nil {
		errs = append(errs, errors.New("Hasher is a nil HasherFunc"))
	}
	if o.ParamLock {
		errs = append(errs, validateRoom(base, o.Hasher))
	}
	if err := errors.Join(append(errs, o.validateNumbers())...); err != nil {
		return &Error{Op: "options", Err: err}
	}
	return nil
}

// validateNumbers checks what matters for every use, also where the caller
// gives the key. It allocates only if something is wrong.
func (o *Opts) validateNumbers() error {
	var errs []error
	for _, d := range [...]struct {
		field string
		value time.Duration
	}{
		{"KeyTimeout", o.KeyTimeout},
		{"RetryInterval", o.RetryInterval},
		{"MaxHold", o.MaxHold},
	} {
		switch {
		case d.value < 0:
			errs = append(errs, fmt.Errorf("%s is negative: %v", d.field, d.value))
		case d.value > 0 && d.value < time.Millisecond:
			errs = append(errs, fmt.Errorf("%s is below one millisecond: %v", d.field, d.value))
		case d.value > maxDuration:
			errs = append(errs, fmt.Errorf("%s is above %v: %v", d.field, maxDuration, d.value))
		}
	}
	if o.RetryCount < 0 {
		errs = append(errs, errors.New("RetryCount is negative: "+strconv.Itoa(o.RetryCount)))
	}
	if o.MaxWaiters < 0 {
		errs = append(errs, errors.New("MaxWaiters is negative: "+strconv.Itoa(o.MaxWaiters)))
	}
	return errors.Join(errs...)
}

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
func (o *Opts) name() string { return o.Prefix + o.Value }
