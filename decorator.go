package distlock

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"
)

// Func is a function of one request, for example a method value of a service.
type Func[Req, Resp any] func(ctx context.Context, req Req) (Resp, error)

// Wrap returns fn under a lock, as [Locker.Do] runs it. A response that fn returned
// although the lease was lost comes with an error that wraps [ErrLost]. Below a holder of
// the same key, calls do not exclude each other: see [Opts].Reentry.
//
// Wrap panics if locker or fn is nil, if opts are invalid (see [Opts.Validate]), if Params
// takes another type than Req, or if Req can never be made into a key.
func Wrap[Req, Resp any](locker *Locker, fn Func[Req, Resp], opts Opts) Func[Req, Resp] {
	req := reflect.TypeFor[Req]()
	if fn == nil {
		panic(fmt.Sprintf("distlock: Wrap: nil Func[%v, %v]", req, reflect.TypeFor[Resp]()))
	}
	if locker == nil {
		panic("distlock: nil Locker")
	}
	site := newSite(locker, "", opts)
	if site.err != nil {
		panic(site.err.Error())
	}
	if err := site.keys.checkRequest(req); err != nil {
		panic("distlock: Wrap: " + err.Error())
	}
	return func(ctx context.Context, req Req) (resp Resp, err error) {
		var params any
		if opts.takesParams() {
			params = req
		}
		lease, err := site.Begin(ctx, params)
		if err != nil {
			return resp, err
		}
		defer lease.finish(&err)
		if lease != nil {
			ctx = &lease.ctx
		}
		return fn(ctx, req)
	}
}

// site is checked options, bound to a Locker, and the way from parameters to keys. Wrap
// uses it, and package wiring by package bridge. It is safe for concurrent use.
type site struct {
	locker *Locker
	opts   Opts // with defaults
	keys   *keyBuilder
	parts  atomic.Int64 // 1 + the number of parameters of the last key
	err    error        // why the options cannot be used, or nil
}

// newSite returns a site for opts. The name is for errors, and may be empty.
func newSite(locker *Locker, name string, opts Opts) *site {
	s := &site{locker: locker, opts: opts.withDefaults()}
	s.opts.Prefix, s.opts.Value = "", opts.name() // joined once, not for every call
	if opts.Hasher == nil && opts.KeyFormat == nil {
		opts.Hasher = locker.cfg.Hasher
	}
	var err error
	if s.keys, err = newKeyBuilder(opts); err == nil {
		err = locker.supports(&opts)
	}
	if err != nil {
		s.err = refusedOptions(name, &opts, err)
	}
	return s
}

// refusedOptions returns the error of options that cannot be used at the place with the name.
func refusedOptions(name string, opts *Opts, err error) error {
	if e := new(Error); errors.As(err, &e) {
		err = e.Err
	}
	if name != "" {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return &Error{Op: "options", Key: opts.Prefix + opts.Value, Err: err}
}

// Err returns why the options cannot be used, or nil.
func (s *site) Err() error { return s.err }

// Key returns the full key for params.
func (s *site) Key(params any) (string, error) {
	if s.err != nil {
		return "", s.err
	}
	return s.keys.Key(params)
}

// build is Key, but returns errSkip for [Skip], and tells the Locker how many parameters the
// key has.
func (s *site) build(params any) (string, error) {
	key, parts, err := s.keys.build(params)
	if shape := int64(parts) + 1; err == nil && shape > 0 && s.parts.Load() != shape {
		s.parts.Store(shape)
		s.locker.shapes.note(s.opts.Value, s.keys, parts)
	}
	return key, err
}

// Begin returns the lease for params, or nil for Skip: no lock is needed. The function
// runs under the lease's context and ends with a deferred finish.
func (s *site) Begin(ctx context.Context, params any) (*Lease, error) {
	if s.err != nil {
		return nil, s.tell(ctx, s.err)
	}
	key, err := s.build(params)
	switch {
	case err == errSkip: //nolint:errorlint // it is not wrapped
		return nil, nil //nolint:nilnil // no lock is not an error
	case err != nil:
		return nil, s.tell(ctx, err)
	default:
		a := s.locker.newAcquisition(ctx, key, &s.opts)
		return a.run()
	}
}

// NoFunction returns the error for a nil function.
func (s *site) NoFunction(ctx context.Context) error {
	return s.tell(ctx, noFunction(s.opts.Value))
}

// tell tells the hooks of an acquisition without a key, and returns err.
func (s *site) tell(ctx context.Context, err error) error {
	return s.locker.refuse(ctx, "", &s.opts, err)
}
