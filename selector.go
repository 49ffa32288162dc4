package distlock

import (
	"fmt"
	"reflect"

	"github.com/distlock-go/distlock/internal/keyenc"
	"github.com/distlock-go/distlock/internal/text"
)

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

// accepts returns an error if s cannot take requests of type req; nil is the type of a nil
// interface. The types must be identical: By asserts the type, and the assertion fails for an
// assignable one, so that all requests would share the key of the zero value.
func (s Selector) accepts(req reflect.Type) error {
	if !s.isSet() || req == s.in {
		return nil
	}
	if s.in.Kind() == reflect.Interface && (req == nil || req.Implements(s.in)) {
		return nil
	}
	return fmt.Errorf("Params takes %v but the request is a %v", s.in, req)
}

// keyFormat is the type of [Opts].KeyFormat.
type keyFormat func(base string, params any) (key string, err error)

// call returns a valid key, or an error that says what the function did.
func (f keyFormat) call(base string, params any) (key string, err error) {
	defer func() {
		if r := recover(); r != nil {
			key, err = "", fmt.Errorf("panicked: %w", keyenc.Panicked(r))
		}
	}()
	key, err = f(base, params)
	if err != nil {
		return "", fmt.Errorf("failed: %w", err)
	}
	if fault := keyFault(key); fault != "" {
		return "", fmt.Errorf("made the key %s, which %s", text.Quote(key), fault)
	}
	return key, nil
}
