// Package request is what the middlewares share: the parameters of a key come from
// strangers.
package request

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/keyenc"
	"github.com/distlock-go/distlock/wiring"
)

// Params refuses parameters that are missing: otherwise all requests that leave out their ID
// would share one lock. err is why there are none.
func Params(params any, err error) (any, error) {
	switch {
	case err != nil:
		return nil, err
	case params != distlock.Skip && missing(reflect.ValueOf(params), 16):
		return nil, &distlock.KeyError{Detail: "what the request is about is missing"}
	default:
		return params, nil
	}
}

// missing reports whether v is not a value: nil, an empty string, list or map, or a list with
// such a part, but not below depth: lists may contain themselves. Zero and false are values.
func missing(v reflect.Value, depth int) bool {
	if depth == 0 {
		return false
	}
	switch v.Kind() {
	case reflect.Invalid:
		return true
	case reflect.String, reflect.Map:
		return v.Len() == 0
	case reflect.Slice, reflect.Array:
		empty := v.Len() == 0
		for i := 0; i < v.Len() && v.Type().Elem().Kind() != reflect.Uint8; i++ {
			empty = empty || missing(v.Index(i), depth-1)
		}
		return empty
	case reflect.Pointer, reflect.Interface:
		return v.IsNil() || missing(v.Elem(), depth-1)
	default:
		return false
	}
}

// Parts returns the parameters of a key of n parts, a []any. The first error or
// [distlock.Skip] is the result for all.
func Parts(n int, part func(i int) (any, error)) (any, error) {
	parts := make([]any, n)
	for i := range parts {
		v, err := part(i)
		if err != nil || v == distlock.Skip {
			return v, err
		}
		parts[i] = v
	}
	return parts, nil
}

// Single returns the only value of a header and the like.
func Single(what string, values []string) (any, error) {
	switch {
	case len(values) > 1: // it is unknown which of them the handler takes
		return nil, &distlock.KeyError{Detail: what + " appears more than once"}
	case len(values) == 0 || values[0] == "":
		return nil, &distlock.KeyError{Detail: what + " is missing or empty"}
	default:
		return values[0], nil
	}
}

// MaxBodies is how many bytes the bodies have together that wait at one door. A single body may
// have more.
const MaxBodies = 64 << 20

// Door is what the requests of one middleware share. The zero value is one.
type Door struct {
	waiting atomic.Int64 // bytes of the bodies that wait
	told    sync.Once    // of work after a handler
}

// Call is a request at a door. It waits in one goroutine.
type Call struct {
	door *Door
	n    int64           // bytes of its body
	done bool            // they count no more
	ctx  context.Context //nolint:containedctx // of the request: it ends when all of its handlers have returned
	over atomic.Bool     // the handler has returned
	late func()
}

// Enter returns a call without bytes. late is called for the first sign of work that goes on
// after its handler without the lock, such as a goroutine after a timeout: once for the door.
func (d *Door) Enter(late func()) *Call { return &Call{door: d, late: late} }

// Add adds n bytes to the body. If the other bodies have too many, the error wraps
// [distlock.ErrQueueFull].
func (c *Call) Add(n int) error {
	if c.done {
		return nil
	}
	c.n += int64(n)
	if others := c.door.waiting.Add(int64(n)) - c.n; others > MaxBodies {
		return fmt.Errorf("%w: the bodies that wait have %d MB", distlock.ErrQueueFull, others>>20)
	}
	return nil
}

// Done is called when the call does not wait any more.
func (c *Call) Done() {
	if !c.done {
		c.done = true
		c.door.waiting.Add(-c.n)
	}
}

// Do runs fn under the lock for params, and reports whether it ran. It returns why it did not,
// or the error of the lease. If err is why there are no params, the hooks are told of it.
func (c *Call) Do(ctx context.Context, site *wiring.Site, params any, err error, fn func(context.Context)) (ran bool, _ error) {
	if err != nil {
		params = keyenc.Fault{Err: err}
	}
	c.ctx = ctx
	err = site.Do(ctx, params, func(ctx context.Context) error {
		ran = true
		c.Done()
		if params == distlock.Skip {
			fn(ctx)
			return nil
		}
		defer c.over.Store(true)
		fn(watched{ctx, c})
		return nil
	})
	return ran, err
}

// Check tells the operator if the request is over. Until then a framework answers for its handler.
func (c *Call) Check() {
	if c.over.Load() && c.ctx.Err() != nil {
		c.door.told.Do(c.late)
	}
}

// watched is the context of a handler. Whoever asks it for a lease runs under the lock, or
// should: a goroutine that may outlive the handler has a context of [distlock.Detach].
type watched struct {
	context.Context //nolint:containedctx // is that context, and sees its use
	call            *Call
}

func (c watched) Value(key any) any {
	v := c.Context.Value(key)
	if _, ok := v.(*distlock.Lease); ok {
		c.call.Check()
	}
	return v
}
