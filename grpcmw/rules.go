package grpcmw

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/request"
	"github.com/distlock-go/distlock/wiring"
)

// Rule says how a method is locked.
type Rule struct {
	// Key says what a call locks. It is required.
	Key Key

	// Opts declare the lock. ParamLock and Params must be unset, because Key selects the
	// parameters. Methods with the same Prefix and Value share their locks.
	Opts distlock.Opts
}

// Rules is a table of rules for methods, made by [ByMethod] or [FromOptions]. The zero
// value has none. It does not change and is safe for concurrent use.
type Rules struct{ byMethod map[string]rule }

// rule is a Rule and what is known about its method.
type rule struct {
	Rule

	// desc is nil if the method is known by its name alone.
	desc protoreflect.MethodDescriptor

	// whole has all calls share one lock, as a function has that is
	// locked without ParamLock.
	whole bool
}

// ByMethod returns the rules for methods by their full name "/package.Service/Method",
// as in [google.golang.org/grpc.UnaryServerInfo]. It copies the map. The interceptor
// checks the rules.
func ByMethod(rules map[string]Rule) Rules {
	byMethod := make(map[string]rule, len(rules))
	for method, r := range rules {
		byMethod[method] = rule{Rule: r}
	}
	return Rules{byMethod}
}

// Unary returns r without the methods that are known to stream: those belong to
// [Rules.Streams]. An interceptor panics if it gets a rule for a method that it does not see,
// because the method would run without its lock.
func (r Rules) Unary() Rules { return r.less(streams) }

// Streams returns r without the methods that are known not to stream, for
// [StreamServerInterceptor].
func (r Rules) Streams() Rules {
	return r.less(func(d protoreflect.MethodDescriptor) bool { return !streams(d) })
}

// less returns r without the methods that are known to be of a kind.
func (r Rules) less(kind func(protoreflect.MethodDescriptor) bool) Rules {
	byMethod := maps.Clone(r.byMethod)
	maps.DeleteFunc(byMethod, func(method string, r rule) bool {
		desc, err := r.describe(method)
		return err == nil && desc != nil && kind(desc)
	})
	return Rules{byMethod}
}

// Adjust returns r with the Opts changed by f, for options that depend on where a
// program runs, such as how long to wait. f is called once for each method before
// Adjust returns, in the order of their names. The interceptor checks the result.
// Adjust panics if f is nil.
func (r Rules) Adjust(f func(fullMethod string, o *distlock.Opts)) Rules {
	if f == nil {
		panic("grpcmw: Adjust: nil function")
	}
	byMethod := make(map[string]rule, len(r.byMethod))
	for _, method := range slices.Sorted(maps.Keys(r.byMethod)) {
		adjusted := r.byMethod[method]
		f(method, &adjusted.Opts)
		byMethod[method] = adjusted
	}
	return Rules{byMethod}
}

func streams(d protoreflect.MethodDescriptor) bool {
	return d.IsStreamingClient() || d.IsStreamingServer()
}

// describe returns nil for a method that is not known.
func (r *rule) describe(method string) (protoreflect.MethodDescriptor, error) {
	if r.desc != nil {
		return r.desc, nil
	}
	return findMethod(method)
}

// middleware is what all interceptors share.
type middleware struct {
	calls map[string]*call
	door  request.Door
}

// wire makes the rules into a middleware and panics with all errors in them.
func wire(name string, l *distlock.Locker, rules Rules, forStreams bool) *middleware {
	if l == nil {
		panic("grpcmw: " + name + ": nil Locker")
	}
	m := &middleware{calls: make(map[string]*call, len(rules.byMethod))}
	var errs []error
	for _, method := range slices.Sorted(maps.Keys(rules.byMethod)) {
		c, err := newCall(l, method, rules.byMethod[method], forStreams)
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

func newCall(l *distlock.Locker, method string, r rule, forStreams bool) (*call, error) {
	desc, err := r.describe(method)
	if err != nil {
		return nil, err
	}
	if r.Key.params == nil {
		return nil, errors.New("Key is nil")
	}
	if !reflect.ValueOf(r.Opts.Params).IsZero() {
		return nil, errors.New("Opts.Params is set, but Key selects the parameters")
	}
	if r.Opts.ParamLock && (r.desc == nil || r.whole) { // FromOptions sets it
		return nil, errors.New("Opts.ParamLock is set, but Key selects the parameters")
	}
	r.Opts.ParamLock = !r.whole
	if err := r.Opts.Validate(); err != nil {
		return nil, err
	}
	c := &call{method: method, key: r.Key}
	if err := c.fit(desc, forStreams); err != nil {
		return nil, err
	}
	c.site = wiring.Bind(l, r.Opts)
	return c, nil
}
