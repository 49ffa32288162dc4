package distlock

import (
	"fmt"
	"reflect"

	"github.com/distlock-go/distlock/internal/keyenc"
)

// Skip in place of parameters means: this call needs no lock. The function runs
// without one, and [FromContext] finds none.
const Skip = keyenc.Skip

// Selector selects the part of a request that takes part in the key; [By] makes
// one. The zero value selects the whole request.
type Selector struct {
	in    reflect.Type
	apply func(req any) any
	err   error // for Validate: what is wrong with the function that By got
}

// By returns a Selector for requests of type Req; [Wrap] panics for another type. The
// function f must be pure, fast and safe for concurrent use; it may return [Skip]. If
// it panics, the call ends with [ErrKey].
//
//	distlock.By(func(r PayRequest) any { return r.OrderID })
func By[Req any](f func(Req) any) Selector {
	in := reflect.TypeFor[Req]()
	if f == nil {
		return Selector{in: in, err: fieldErrorf("Params", "is By of a nil func(%v) any", in)}
	}
	return Selector{in: in, apply: func(req any) any {
		r, _ := req.(Req) // nil is a Req only if Req is an interface, and then r is nil already
		return f(r)
	}}
}

func (s Selector) isSet() bool { return s.in != nil }

// call is apply, but returns a panic of the caller's function as an error.
func (s Selector) call(req any) (params any, err error) {
	defer func() {
		if r := recover(); r != nil {
			params, err = nil, fmt.Errorf("Params, of a %v, panicked: %w", s.in, keyenc.Panicked(r))
		}
	}()
	return s.apply(req), nil
}

// accepts returns an error if s cannot take requests of type req; nil is the type
// of a nil interface. It is not enough that req is assignable: a type L []int is
// assignable to []int, but the assertion in By fails for it, and all requests
// would share the key of the zero value.
func (s Selector) accepts(req reflect.Type) error {
	if !s.isSet() || req == s.in {
		return nil
	}
	if s.in.Kind() == reflect.Interface && (req == nil || req.Implements(s.in)) {
		return nil
	}
	return fmt.Errorf("Params takes %v but the request is a %v", s.in, req)
}
