package distlock

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
)

// Site is a call site: checked options, a [Locker], and a way from parameters to keys.
// Generated code and decorators such as [Wrap] use it. It is safe for concurrent use.
type Site struct {
	name   string
	opts   Opts // with defaults once it is bound
	locker *Locker
	keys   *KeyBuilder
	err    error // why it cannot be used; nil if it is bound

	origin *Site                   // not bound; nil: this one
	bound  atomic.Pointer[[]*Site] // results of On, the newest first; never changed once stored
}

// maxBound limits how many Lockers a Site remembers. Usually there is one; the limit
// keeps Lockers that come and go, as in tests, from adding up.
const maxBound = 8

// Site returns a Site for o, bound to l. It panics if l is nil, if o is invalid (see
// [Opts.Validate]), or if the backend cannot do what o asks for.
func (l *Locker) Site(o Opts) *Site {
	if l == nil {
		panic("distlock: nil Locker")
	}
	s := NewSite("", o).On(l)
	if s.err != nil {
		panic(s.err.Error())
	}
	return s
}

// NewSite returns a Site that has no Locker until [Site.On] binds it; before that its
// methods only return errors. The name, for example of a function, is for errors, and
// may be empty. NewSite panics if o is invalid.
func NewSite(name string, o Opts) *Site {
	s := &Site{name: name, opts: o}
	if err := o.Validate(); err != nil {
		panic(s.refuse(err).Error())
	}
	s.err = s.refuse(errors.New("the Site has no Locker: call On"))
	return s
}

// On returns s bound to l: the same Site each time, for the few Lockers that it
// remembers. If l is nil, or its backend cannot do what the options ask for, the
// methods of the result return an [*Error] with the name of s.
func (s *Site) On(l *Locker) *Site {
	if s.origin != nil {
		s = s.origin
	}
	known := s.bound.Load()
	if known != nil {
		for _, b := range *known {
			if b.locker == l {
				return b
			}
		}
	}
	b := s.bind(l)
	all := []*Site{b}
	if known != nil {
		all = append(all, (*known)[:min(len(*known), maxBound-1)]...)
	}
	s.bound.CompareAndSwap(known, &all) // if another call was first, the next one binds again
	return b
}

func (s *Site) bind(l *Locker) *Site {
	b := &Site{name: s.name, opts: s.opts.withDefaults(), locker: l, origin: s}
	if l == nil {
		b.err = s.refuse(errors.New("the Locker is nil"))
		return b
	}
	o := s.opts
	if o.Hasher == nil && o.KeyFormat == nil {
		o.Hasher = l.cfg.Hasher
	}
	err := l.supports(&o)
	if err == nil {
		err = o.Validate() // again, because of the Hasher
	}
	if err != nil {
		b.err = s.refuse(err)
		return b
	}
	b.keys = NewKeyBuilder(o)
	b.opts.Prefix, b.opts.Value = "", o.name() // joined once, not for every call
	return b
}

// refuse returns the error of options that cannot be used.
func (s *Site) refuse(err error) error {
	if e := new(Error); errors.As(err, &e) {
		err = e.Err
	}
	if s.name != "" {
		err = fmt.Errorf("%s: %w", s.name, err)
	}
	return &Error{Op: "options", Key: s.opts.Prefix + s.opts.Value, Err: err}
}

// Key returns the full key for params, as [KeyBuilder.Key] does.
func (s *Site) Key(params any) (string, error) {
	if s.err != nil {
		return "", s.err
	}
	return s.keys.Key(params)
}

// Acquire takes the lock for params, as [Locker.Acquire] does for a key. For [Skip] the
// error wraps [ErrKey].
func (s *Site) Acquire(ctx context.Context, params any) (*Lease, error) {
	key, err := s.Key(params)
	if err != nil {
		return nil, s.tell(ctx, err)
	}
	return s.locker.acquire(ctx, key, &s.opts, nil)
}

// Do runs fn under the lock for params, as [Locker.Do] does for a key. If params or the
// result of Params is [Skip], it runs fn without a lock.
func (s *Site) Do(ctx context.Context, params any, fn func(ctx context.Context) error) (err error) {
	if fn == nil {
		return s.tell(ctx, noFunction(s.opts.Value))
	}
	lease, err := s.begin(ctx, params)
	if err != nil {
		return err
	}
	if lease == nil {
		return fn(ctx)
	}
	defer lease.finish(&err)
	return fn(&lease.ctx)
}

// begin returns the lease for params, or nil for Skip: no lock is needed. The function
// runs under the lease's context and ends with a deferred finish.
func (s *Site) begin(ctx context.Context, params any) (*Lease, error) {
	if s.err != nil {
		return nil, s.tell(ctx, s.err)
	}
	key, skip, err := s.keys.build(params)
	switch {
	case skip:
		return nil, nil //nolint:nilnil // no lock is not an error
	case err != nil:
		return nil, s.tell(ctx, err)
	default:
		return s.locker.acquire(ctx, key, &s.opts, nil)
	}
}

// tell tells the hooks of an acquisition without a key, and returns err.
func (s *Site) tell(ctx context.Context, err error) error {
	if s.locker == nil {
		return err
	}
	return s.locker.refuse(ctx, "", &s.opts, err)
}
