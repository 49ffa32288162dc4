package distlock

import (
	"cmp"
	"errors"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/compat"
)

// Defaults of [Opts].
const (
	DefaultKeyTimeout    = 10 * time.Second
	DefaultRetryInterval = 500 * time.Millisecond
)

// Opts declares how something is locked. Its zero value works, except that decorators
// require a Value.
type Opts struct {
	// Prefix + Value is the key; ":" and the parameters follow if these take part. It is
	// also the name that [Hooks] see, fit for a metric label; "unnamed" if it is empty.
	// Where the caller gives the key ([Locker.Do]), the key is Prefix + key, and Value may
	// be empty: see [Key].
	Prefix string
	Value  string

	// ParamLock makes the parameters part of the key, so each request locks only what it
	// is about. The default is one lock for the whole function. Where the caller gives
	// the key, ParamLock, Params, Hasher and KeyFormat are refused.
	//
	// Values that may be the same thing have one key, in every process and through every
	// way in: order 42 has the key "shop:pay:42" as an integer of any type, as text, and as
	// the only field of a struct. A struct is its exported fields, less those tagged
	// `lock:"-"`; if fields are tagged `lock:"key"`, it is only these. A type with LockKey()
	// string or MarshalText is what the method returns. Parameters that do not fit into 200
	// bytes are a digest. The page docs/keys.md has all rules, and says what is refused.
	ParamLock bool

	// Params selects the parameters from the request: see [By]. The default is the whole
	// request, with its `lock` tags. It implies ParamLock.
	Params Selector

	// Hasher makes the last part of the key. The default is [Config].Hasher, and otherwise the
	// text of the parameters, as in "shop:transfer:alice:bob".
	Hasher Hasher

	// KeyFormat makes the whole key, in the place of a Hasher, as another program makes it:
	// package javakey has the rules of Java libraries. It gets Prefix + Value, and the request
	// or what Params selects; nil without ParamLock. The key must depend on these alone, and
	// no request should get the key of another. KeyFormat is called concurrently and must not
	// block. If it fails, panics or makes an invalid key, the call ends with [ErrKey].
	KeyFormat func(base string, params any) (key string, err error)

	// KeyTimeout is the lease: how long the key outlives a crashed holder, in whole
	// milliseconds. The watchdog renews it every third of its length. The backend may
	// limit it, and MinHold too. The default is [DefaultKeyTimeout].
	KeyTimeout time.Duration

	// RetryCount is the number of attempts; 0, the default, means no limit. 1 never waits, for
	// work that another caller may already be doing. To limit the time, use MaxWait.
	RetryCount int

	// RetryInterval is the base of the wait between attempts, which is uniform in
	// [RetryInterval, 2*RetryInterval). It limits how late a waiter notices what no
	// message reported; a message wakes it at once. Choose it a little longer than the
	// function usually runs. The default is [DefaultRetryInterval].
	RetryInterval time.Duration

	// MaxWait limits the wait, but not the function. The wait ends with [ErrNotAcquired], and
	// [ErrUnavailable] too if the store failed. An operation in progress may take half a
	// second more. The default means no limit.
	MaxWait time.Duration

	// Mode is Exclusive, the default, or Shared, for a reader beside other readers. A reader
	// that comes after a writer waits behind it. In one process, readers share a lease in the
	// store for [Config].HandOverTime, if they have the same KeyTimeout, and no MaxHold or
	// MinHold. The backend must support sharing.
	Mode Mode

	// Permits above 0, at most 1,000,000, makes the key a semaphore with that many holders
	// in all processes together. Callers should ask for the same number; otherwise each
	// gets a permit while fewer than its own number are in use. A re-entry takes no second
	// permit. In its process, a function keeps its permit until it returns, even after MaxHold.
	// Not with Mode Shared; the backend must support sharing.
	Permits int

	// MaxHold ends a lease this long after it was acquired, with [ErrLost], and gives the key
	// back to the store. A function that hangs does not keep it from other processes. Callers of
	// this process wait until the function has returned. The default means no limit.
	MaxHold time.Duration

	// MinHold, ShedLock's lockAtLeastFor, keeps the key in the store at least this long after
	// it was acquired: a quick job runs once per period in all processes. It should be longer
	// than their clocks differ and shorter than the period. After a crash the key ends with
	// KeyTimeout, after a loss it is not kept. A re-entry uses the MinHold of the outer call. At
	// most MaxHold.
	MinHold time.Duration

	// Reentry says which calls get in below a holder of their key, for example a function that
	// calls itself. The default is ReentryAll. A caller that was not given the holder's context
	// is no re-entry, and waits for it.
	Reentry Reentry

	// Fencing demands a fencing token: without one, the acquisition fails at once with
	// [ErrNoFencing]. Set it if the resource checks [Lease.Token], which would be 0.
	Fencing bool
}

// Validate reports every field that a decorator would refuse with a panic, by name and
// value, for options that come from a file. The least duration is a millisecond.
func (o Opts) Validate() error {
	base := o.Prefix + o.Value
	errs := []error{validateBase(base), o.Params.err}
	if o.Value == "" {
		errs = append(errs, fieldErrorf("Value", "is empty"))
	}
	switch {
	case o.KeyFormat != nil:
		errs = append(errs, o.validateKeyFormat(base))
	case o.takesParams():
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
	if o.Reentry < ReentryAll || o.Reentry > ReentryNone {
		errs = append(errs, fieldErrorf("Reentry", "is unknown: %d", o.Reentry))
	}
	if o.Mode != Exclusive && o.Mode != Shared {
		errs = append(errs, fieldErrorf("Mode", "is unknown: %v", o.Mode))
	}
	if err := o.validatePermits(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// validateGivenKey checks the options for a lock with a key from the caller. It refuses
// the fields that make keys of parameters: if it ignored them, callers that ask for a
// lock per parameter would share one. It allocates only if something is wrong.
func (o *Opts) validateGivenKey() error {
	var errs []error
	for _, f := range [...]struct {
		name string
		set  bool
	}{{"ParamLock", o.ParamLock}, {"Params", o.Params.isSet()}, {"Hasher", o.Hasher != nil}, {"KeyFormat", o.KeyFormat != nil}} {
		if f.set {
			errs = append(errs, fieldErrorf(f.name, "is set, but the key is given: use Wrap, or make the same key with Key(Value, parameters)"))
		}
	}
	if err := o.validateNumbers(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// validateKeyFormat checks the KeyFormat, without parameters if the key has none.
func (o *Opts) validateKeyFormat(base string) error {
	if o.Hasher != nil {
		return fieldErrorf("Hasher", "is set but %v makes the whole key", fieldName("KeyFormat"))
	}
	if o.takesParams() || base != "" && keyFault(base) != "" { // reported elsewhere
		return nil
	}
	if _, err := keyFormat(o.KeyFormat).call(base, nil); err != nil {
		return fieldErrorf("KeyFormat", "%v", err)
	}
	return nil
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
	o.KeyTimeout = cmp.Or(o.KeyTimeout, DefaultKeyTimeout).Truncate(time.Millisecond)
	o.RetryInterval = cmp.Or(o.RetryInterval, DefaultRetryInterval)
	return o
}

// takesParams reports whether the parameters are part of the key.
func (o *Opts) takesParams() bool { return o.ParamLock || o.Params.isSet() }

// name returns the name of the lock in hooks.
func (o *Opts) name() string {
	if name := o.Prefix + o.Value; name != "" {
		return name
	}
	return "unnamed" // never the key, which strangers may choose
}

// start starts the wait budget of an acquisition.
func (o *Opts) start(b *budget) { b.start(o.RetryInterval, o.RetryCount, o.MaxWait) }

func (o *Opts) sharing() driver.Sharing { return driver.Sharing{Mode: o.Mode, Permits: o.Permits} }

func (o *Opts) class() compat.Class {
	return compat.Class{
		Sharing: o.sharing(), TTL: o.KeyTimeout, Alone: o.Mode == Shared && (o.MaxHold > 0 || o.MinHold > 0),
	}
}

// notAcquired returns the error of an acquisition with options o that ended with err.
func (o *Opts) notAcquired(key string, err error) *Error {
	e := &Error{Op: "acquire", Key: key, Err: err}
	if !CodeOf(err).mayPass() {
		return e
	}
	e.RetryAfter = o.RetryInterval
	if held := new(HeldError); errors.As(err, &held) && held.RetryAfter > 0 {
		e.RetryAfter = min(held.RetryAfter, o.KeyTimeout)
	}
	return e
}

// Reentry says which calls get in below a holder of their key, under its lease.
type Reentry int

// The kinds of re-entry. The zero value is ReentryAll.
const (
	ReentryAll  Reentry = iota // all, at the same time
	ReentryOne                 // one at a time below the same holder; the others get ErrNotAcquired at once
	ReentryNone                // none: they get ErrReentry at once
)

// Mode says whether a key can have several holders at the same time.
type Mode = driver.Mode

// The modes. The zero value is Exclusive.
const (
	Exclusive = driver.Exclusive // one holder
	Shared    = driver.Shared    // any number of readers
)
