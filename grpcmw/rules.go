package grpcmw

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/distlock-go/distlock"
)

// Rule says how a method is locked.
type Rule struct {
	// Key finds in a call what it locks. It is required.
	Key Key

	// Opts declare the lock. ParamLock is implied and Params must not be set:
	// Key selects the parameters. Methods with the same Prefix and Value share
	// their locks.
	Opts distlock.Opts
}

// Rules is a table of methods. The zero value locks none. It does not change and
// is safe for concurrent use.
type Rules struct{ byMethod map[string]Rule }

// ByMethod returns the rules for methods by their full name, which is what
// [google.golang.org/grpc.UnaryServerInfo] has: "/package.Service/Method". The
// map is copied. It is checked by the interceptor that is made with it.
func ByMethod(rules map[string]Rule) Rules { return Rules{maps.Clone(rules)} }

// middleware is one interceptor.
type middleware struct {
	calls    map[string]*call
	fail     ErrorFunc
	verified bool
}

// wire makes the rules into a middleware and panics with all that is wrong.
func wire(name string, l *distlock.Locker, rules Rules, k kind, opts []Option) *middleware {
	if l == nil {
		panic("grpcmw: " + name + ": nil Locker")
	}
	m := &middleware{calls: make(map[string]*call, len(rules.byMethod)), fail: defaultError}
	for _, opt := range opts {
		opt(m)
	}
	var errs []error
	for _, method := range slices.Sorted(maps.Keys(rules.byMethod)) {
		c, err := newCall(l, method, rules.byMethod[method], k)
		if err != nil {
			errs = append(errs, fmt.Errorf("rule for %q: %w", method, err))
		}
		m.calls[method] = c
	}
	if err := errors.Join(errs...); err != nil {
		panic("grpcmw: " + name + ": " + err.Error())
	}
	return m
}

func newCall(l *distlock.Locker, method string, r Rule, k kind) (*call, error) {
	desc, err := findMethod(method)
	if err != nil {
		return nil, err
	}
	if r.Key == nil || isNil(r.Key) {
		return nil, errors.New("Key is nil")
	}
	if !reflect.ValueOf(r.Opts.Params).IsZero() {
		return nil, errors.New("Opts.Params is set, but Key selects the parameters")
	}
	r.Opts.ParamLock = true
	if err := r.Opts.Validate(); err != nil {
		return nil, err
	}
	c := &call{method: method, kind: k, key: r.Key}
	if err := c.fit(desc); err != nil {
		return nil, err
	}
	c.guard = l.Guard(r.Opts)
	return c, nil
}

// isNil reports whether v is a nil function or pointer in an interface.
func isNil(v any) bool {
	switch rv := reflect.ValueOf(v); rv.Kind() {
	case reflect.Func, reflect.Pointer:
		return rv.IsNil()
	default:
		return false
	}
}
