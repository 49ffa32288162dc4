package distlock

import (
	"fmt"
	"reflect"
	"slices"
)

// Skip in place of parameters means: this call needs no lock. The function runs
// without one, and [FromContext] finds none.
var Skip any = skip{}

type skip struct{}

// Missing reports whether params is no value at all: nil, an empty string, list
// or map, or a list with such a part. Zero and false are values. A decorator
// whose parameters come from a stranger refuses these: otherwise requests that
// leave out what they are about would all share one lock.
func Missing(params any) bool {
	switch v := params.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case int64:
		return false
	case []any:
		return len(v) == 0 || slices.ContainsFunc(v, Missing)
	}
	switch v := reflect.ValueOf(params); v.Kind() {
	case reflect.String, reflect.Slice, reflect.Map:
		return v.Len() == 0
	case reflect.Pointer:
		return v.IsNil()
	default:
		return false
	}
}

// ParamFunc selects the part of a request that takes part in the key; [By]
// makes one. The zero value selects the whole request.
type ParamFunc struct {
	in    reflect.Type
	apply func(req any) any
	err   error // found when it was made, told by Validate
}

// By returns a ParamFunc for requests of type Req. Wrapping a function with
// another request type panics. The function must be pure, fast and safe for
// concurrent use; it may return [Skip]. If it panics, the call ends with [ErrKey].
//
//	distlock.By(func(r PayRequest) any { return r.OrderID })
func By[Req any](f func(Req) any) ParamFunc {
	in := reflect.TypeFor[Req]()
	if f == nil {
		return ParamFunc{in: in, err: fmt.Errorf("Params is By of a nil func(%v) any", in)}
	}
	return ParamFunc{in: in, apply: func(req any) any {
		r, _ := req.(Req) // nil is a Req only if Req is an interface, and then r is nil already
		return f(r)
	}}
}

func (p ParamFunc) isSet() bool { return p.in != nil }

// call is apply, but returns a panic of the caller's function as an error.
func (p ParamFunc) call(req any) (params any, err error) {
	defer func() {
		if r := recover(); r != nil {
			params, err = nil, fmt.Errorf("Params, of a %v, panicked: %w", p.in, panicked(r))
		}
	}()
	return p.apply(req), nil
}

// accepts reports whether requests of type req can be given to p; nil is the
// type of a nil interface. To be assignable is not enough: a type L []int is
// assignable to []int, but the assertion in By fails for it, and all requests
// would share the key of the zero value.
func (p ParamFunc) accepts(req reflect.Type) error {
	if !p.isSet() || req == p.in {
		return nil
	}
	if p.in.Kind() == reflect.Interface && (req == nil || req.Implements(p.in)) {
		return nil
	}
	return fmt.Errorf("Params takes %v but the request is a %v", p.in, req)
}
