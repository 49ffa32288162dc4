// Package annotation is what the code runs on that distlockgen writes, or a weaver, for
// //distlock:lock comments. By hand, [distlock.Wrap], [distlock.Call] and
// [distlock.Locker.Guard] say the same with less.
package annotation

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/distlock-go/distlock"
)

// Site is one annotated function. Its options are checked once, when it is made;
// what depends on the Locker too, once for each Locker. It is safe for
// concurrent use.
type Site struct {
	name   string
	opts   distlock.Opts
	guards atomic.Pointer[[]guard] // the last one made first; not changed once it is there
}

type guard struct {
	locker *distlock.Locker
	guard  *distlock.Guard
	err    error
}

// remembered is how many Lockers a Site knows at a time. One is the rule; a
// bound keeps Lockers that come and go, as in tests, from piling up.
const remembered = 8

// New returns a Site for the function of that name, which errors tell. It panics
// if o is invalid; see [distlock.Opts.Validate]. Generated code calls it when the
// program starts.
func New(name string, o distlock.Opts) *Site {
	if err := o.Validate(); err != nil {
		panic(err.Error() + " (//distlock:lock on " + name + ")")
	}
	return &Site{name: name, opts: o}
}

// Do runs fn under l's lock for params, as [distlock.Guard.Do] does. If l is nil,
// or if its backend cannot do what the options ask for, fn does not run, and the
// error is a [*distlock.Error] that names the function.
func (s *Site) Do(ctx context.Context, l *distlock.Locker, params any, fn func(ctx context.Context) error) error {
	g, err := s.on(l)
	if err != nil {
		return err
	}
	return g.Do(ctx, params, fn)
}

// on returns the Guard for l.
func (s *Site) on(l *distlock.Locker) (*distlock.Guard, error) {
	known := s.guards.Load()
	if known != nil {
		for i := range *known {
			if g := &(*known)[i]; g.locker == l {
				return g.guard, g.err
			}
		}
	}
	g := s.make(l)
	all := []guard{g}
	if known != nil {
		all = append(all, (*known)[:min(len(*known), remembered-1)]...)
	}
	s.guards.CompareAndSwap(known, &all) // who comes second makes its own again the next time
	return g.guard, g.err
}

func (s *Site) make(l *distlock.Locker) (g guard) {
	g.locker = l
	if l == nil {
		g.err = s.refuse("the Locker is nil")
		return g
	}
	// The options are valid: what Guard can still object to is the backend. It
	// does so with a panic, because it is for wiring; but this is a call.
	defer func() {
		switch r := recover().(type) {
		case nil:
		case string:
			g.guard, g.err = nil, s.refuse(r)
		default:
			panic(r)
		}
	}()
	g.guard = l.Guard(s.opts)
	return g
}

func (s *Site) refuse(why string) error {
	return &distlock.Error{Op: "options", Key: s.opts.Prefix + s.opts.Value, Err: errors.New("//distlock:lock on " + s.name + ": " + why)}
}
