package distlock

import (
	"context"
)

// Guard is one call site: a [Locker], checked options and a way from parameters
// to keys. It is what [Wrap] and the middleware packages are made of; use it to
// build a decorator of another shape. It is safe for concurrent use.
type Guard struct {
	locker *Locker
	opts   Opts
	keys   *KeyBuilder
}

// Guard returns a Guard for o. It panics if l is nil, if o is invalid (see
// [Opts.Validate]), or if o asks for something the backend cannot do (see
// [driver.Features]).
func (l *Locker) Guard(o Opts) *Guard {
	if l == nil {
		panic("distlock: nil Locker")
	}
	if o.Hasher == nil {
		o.Hasher = l.cfg.Hasher
	}
	if err := l.supports(&o); err != nil {
		panic((&Error{Op: "options", Err: err}).Error())
	}
	g := &Guard{locker: l, keys: NewKeyBuilder(o), opts: o.withDefaults()}
	g.opts.Prefix, g.opts.Value = "", o.name() // joined once, not for every call
	return g
}

// Key returns the full key for params.
func (g *Guard) Key(params any) (string, error) { return g.keys.Key(params) }

// Acquire takes the lock for params, as [Locker.Acquire] does for a key. For
// [Skip] the error wraps [ErrKey].
func (g *Guard) Acquire(ctx context.Context, params any) (*Lease, error) {
	key, err := g.keys.Key(params)
	if err != nil {
		return nil, err
	}
	return g.locker.acquire(ctx, key, &g.opts)
}

// Do runs fn under the lock for params, as [Locker.Do] does for a key. For
// [Skip], also as the answer of Params, it runs fn without a lock.
func (g *Guard) Do(ctx context.Context, params any, fn func(ctx context.Context) error) (err error) {
	if fn == nil {
		return noFunction(g.opts.Value)
	}
	s, err := g.Begin(ctx, params)
	if err != nil {
		return err
	}
	if s == nil {
		return fn(ctx)
	}
	defer s.Finish(&err)
	return fn(&s.ctx)
}

// Begin is what [Guard.Do] does before it calls its function, for code that is
// written into a function instead: it returns the lease for params. That code runs
// under [Lease.Context] and ends with a deferred [Lease.Finish]. For [Skip], also
// as the answer of Params, the lease is nil, and no lock is needed.
func (g *Guard) Begin(ctx context.Context, params any) (*Lease, error) {
	key, skip, err := g.keys.build(params)
	if skip || err != nil {
		return nil, err
	}
	return g.locker.acquire(ctx, key, &g.opts)
}
