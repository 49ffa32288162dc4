// Package wiring is for code between a function and its lock: what distlockgen generates,
// and decorators and middlewares of your own. A program that locks its own functions needs
// [distlock.Wrap] and [distlock.Locker.Do].
package wiring

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/bridge"
)

var (
	newSite        = bridge.Site.(func(*distlock.Locker, string, distlock.Opts) any)
	refusedOptions = bridge.RefusedOptions.(func(string, *distlock.Opts, error) error)
	finish         = bridge.Finish.(func(*distlock.Lease, *error))
	makeKey        = bridge.Key.(func(distlock.Opts, any) (string, error))
)

// Key returns the full key that [distlock.Wrap] uses for a request params under opts:
// [distlock.Opts].ParamLock says how. Without ParamLock it ignores params. The default
// Hasher shows the parameters, whatever the Config of a Locker says. [distlock.Skip] is an error.
func Key(opts distlock.Opts, params any) (string, error) { return makeKey(opts, params) }

// Site is a call site: checked options, a [distlock.Locker], and a way from parameters to
// keys. It is safe for concurrent use.
type Site struct {
	name string
	opts distlock.Opts
	to   bound
	err  error // why it cannot be used; nil if it is bound

	locker *distlock.Locker
	origin *Site                // not bound; nil: this one
	last   atomic.Pointer[Site] // the last result of On
}

// bound is a Site that is bound, in the root package.
type bound interface {
	Err() error
	Key(params any) (string, error)
	Begin(ctx context.Context, params any) (*distlock.Lease, error) // nil for Skip
	NoFunction(ctx context.Context) error
}

// Bind returns a Site for opts and locker. It panics if locker is nil, if opts are invalid
// (see [distlock.Opts.Validate]), or if the backend cannot do what they ask for.
func Bind(locker *distlock.Locker, opts distlock.Opts) *Site {
	if locker == nil {
		panic("distlock: nil Locker")
	}
	s := (&Site{opts: opts}).On(locker)
	if err := s.to.Err(); err != nil {
		panic(err.Error())
	}
	return s
}

// NewSite returns a Site that has no Locker until [Site.On] binds it; before that its
// methods only return errors. The name, for example of a function, is for errors, and
// may be empty. NewSite panics if opts are invalid.
func NewSite(name string, opts distlock.Opts) *Site {
	if err := opts.Validate(); err != nil {
		panic(refusedOptions(name, &opts, err).Error())
	}
	return &Site{name: name, opts: opts, err: refusedOptions(name, &opts, errors.New("the Site has no Locker: call On"))}
}

// On returns s bound to locker. It remembers the last Locker, so it costs nothing if there is
// one. If locker is nil, or its backend cannot do what the options ask for, the methods of the
// result return a [*distlock.Error] with the name of s.
func (s *Site) On(locker *distlock.Locker) *Site {
	if s.origin != nil {
		s = s.origin
	}
	if b := s.last.Load(); b != nil && b.locker == locker {
		return b
	}
	b := &Site{locker: locker, origin: s}
	if locker == nil {
		b.err = refusedOptions(s.name, &s.opts, errors.New("the Locker is nil"))
	} else {
		b.to = newSite(locker, s.name, s.opts).(bound)
	}
	s.last.Store(b)
	return b
}

// Key returns the full key for params, as the function [Key] does with the Hasher of the
// Locker.
func (s *Site) Key(params any) (string, error) {
	if s.err != nil {
		return "", s.err
	}
	return s.to.Key(params)
}

// Do runs fn under the lock for params, as [distlock.Locker.Do] does for a key. If params
// or the result of Params is [distlock.Skip], it runs fn without a lock.
func (s *Site) Do(ctx context.Context, params any, fn func(ctx context.Context) error) (err error) {
	if s.err != nil {
		return s.err
	}
	if fn == nil {
		return s.to.NoFunction(ctx)
	}
	lease, err := s.to.Begin(ctx, params)
	if err != nil {
		return err
	}
	defer finish(lease, &err)
	if lease != nil {
		ctx = lease.Context()
	}
	return fn(ctx)
}
