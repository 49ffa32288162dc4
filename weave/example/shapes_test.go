package main

import (
	"context"
	stdcontext "context"
	"fmt"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/javakey"
)

// locker is the Locker of functions that are not methods.
var locker *distlock.Locker

// key returns the key of the lock in ctx, or "".
func key(ctx context.Context) string {
	if lease, ok := distlock.FromContext(ctx); ok {
		return lease.Key()
	}
	return ""
}

// till has functions of all shapes. Each returns the key of its lock.
type till struct {
	locker *distlock.Locker
	id     string
}

//distlock:lock value:all paramLock
func (t *till) All(ctx context.Context, user string, order int64) (string, error) {
	return key(ctx), nil
}

//distlock:lock value:one paramLock
func (t till) One(ctx context.Context, order int64) (got string, err error) {
	{
		err := error(nil) // another one
		_ = err
	}
	got = key(ctx)
	return
}

//distlock:lock value:none
func (t *till) None(ctx context.Context, order int64) (string, error) { return key(ctx), nil }

//distlock:lock value:named param:order param:user
func (t *till) Named(ctx context.Context, user string, _ int, order int64) (string, error) {
	return key(ctx), nil
}

//distlock:lock value:exprs key:t.id key:'fmt.Sprintf("%04d", order)' key:len(user)
func (t *till) Exprs(ctx context.Context, user string, order int64) (string, error) {
	return key(ctx), nil
}

//distlock:lock value:expr key:"user[:1]"
func (t *till) Expr(ctx context.Context, user string) (string, error) { return key(ctx), nil }

//distlock:lock value:blank paramLock
func (t *till) Blank(_ context.Context, _ string, _ int) (_ error) { return nil }

//distlock:lock value:unnamed locker:locker paramLock
func (*till) Unnamed(context.Context, string) error { return nil }

//distlock:lock value:late paramLock
func (t *till) Late(user string, ctx stdcontext.Context) (string, error) { return key(ctx), nil }

// Context is another name of the same type.
type Context = context.Context

//distlock:lock value:alias paramLock
func (t *till) Alias(ctx Context, user string) (string, error) { return key(ctx), nil }

//distlock:lock value:two paramLock
func (t *till) Two(ctx, other context.Context, user string, n int) (string, error) {
	return key(ctx) + key(other), nil
}

//distlock:lock value:two-one paramLock
func (t *till) TwoOne(ctx, other context.Context, user string) (string, error) { return key(ctx), nil }

//distlock:lock value:variadic paramLock
func (t *till) Variadic(ctx context.Context, users ...string) (string, error) { return key(ctx), nil }

// generous is a context with more methods.
type generous struct{ context.Context }

//distlock:lock value:generous param:n
func (t *till) Generous(g *generous, ctx context.Context, n int) (string, error) {
	return key(ctx), nil
}

//distlock:lock prefix:my- value:formatted paramLock keyFormat:byAspect
func (t *till) Formatted(ctx context.Context, user string, order int64) (string, error) {
	return key(ctx), nil
}

var byAspect distlock.KeyFormat = javakey.Aspect

//distlock:lock value:hashed paramLock hasher:'distlock.Keyed([]byte("0123456789abcdef0123456789abcdef"))'
func (t *till) Hashed(ctx context.Context, user string) (string, error) { return key(ctx), nil }

//distlock:lock value:shared mode:shared
func (t *till) Shared(ctx context.Context, inside func()) error {
	inside()
	return nil
}

//distlock:lock value:once retryCount:1 retryInterval:1ms
func (t *till) Once(ctx context.Context, inside func(ctx context.Context) error) (ran bool, err error) {
	return true, inside(ctx)
}

//distlock:lock value:again
func (t *till) Again(ctx context.Context, depth int) (string, error) {
	if depth > 0 {
		return t.Again(ctx, depth-1)
	}
	return key(ctx), nil
}

//distlock:lock value:free paramLock
func Free[T fmt.Stringer](ctx context.Context, v T) (string, error) { return key(ctx), nil }

// box is generic.
type box[T any] struct{ locker *distlock.Locker }

//distlock:lock value:boxed paramLock
func (b *box[T]) Put(ctx context.Context, v T) (string, error) { return key(ctx), nil }

//distlock:lock value:ähnlich
func (t *till) Ähnlich(ctx context.Context) (string, error) { return key(ctx), nil }
