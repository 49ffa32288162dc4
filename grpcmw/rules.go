package grpcmw

import (
	"maps"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/distlock-go/distlock"
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

// describe returns nil for a method that is not known.
func (r *rule) describe(method string) (protoreflect.MethodDescriptor, error) {
	if r.desc != nil {
		return r.desc, nil
	}
	return findMethod(method)
}
