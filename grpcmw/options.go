package grpcmw

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	distlockv1 "github.com/distlock-go/distlock/grpcmw/proto/distlock/v1"
)

// FromOptions returns the rules that are written into .proto files, as the option
// (distlock.v1.lock) of an rpc: see the package comment.
//
// It finds the option by reflection in the descriptors of all services that are
// linked into the program, including services that the program only calls. Methods
// without it have no rule. The fields are named as in [distlock.Opts], in snake case,
// with the same defaults; params are names for [Fields]. Without params all calls of
// the method share one lock, like the calls of a function that is locked without
// ParamLock.
//
// FromOptions panics if an option is wrong, and names all faults. A wrong one has no value, a
// param that the request does not have or that cannot be a key, params where the client
// streams, a bad duration, or a field of a newer version. It panics too if no method has the
// option, because then the code was not generated again.
func FromOptions() Rules { return fromFiles(protoregistry.GlobalFiles) }

func fromFiles(files *protoregistry.Files) Rules {
	r := Rules{map[string]rule{}}
	faults := map[string][]error{}
	files.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			methods := f.Services().Get(i).Methods()
			for j := range methods.Len() {
				r.add(methods.Get(j), faults)
			}
		}
		return true
	})
	var lines []string
	for _, method := range slices.Sorted(maps.Keys(faults)) {
		for _, err := range faults[method] {
			lines = append(lines, fmt.Sprintf("option (distlock.v1.lock) of %q: %v", method, err))
		}
	}
	switch {
	case len(lines) > 0:
		panic("grpcmw: FromOptions: " + strings.Join(lines, "\n"))
	case len(r.byMethod) == 0:
		panic("grpcmw: FromOptions: no method has the option (distlock.v1.lock)")
	}
	return r
}

// add adds the rule of a method if it has the option.
func (r Rules) add(desc protoreflect.MethodDescriptor, faults map[string][]error) {
	lock, _ := proto.GetExtension(desc.Options(), distlockv1.E_Lock).(*distlockv1.Lock)
	if lock == nil {
		return
	}
	method := "/" + string(desc.Parent().FullName()) + "/" + string(desc.Name())
	o, errs := optsOf(lock)
	key, keyErrs := keyOf(lock.GetParams(), desc)
	if errs = append(errs, keyErrs...); len(errs) > 0 {
		faults[method] = errs
		return
	}
	r.byMethod[method] = rule{Rule: Rule{Key: key, Opts: o}, desc: desc, whole: !o.ParamLock}
}

// keyOf returns the Key for the params of a method.
func keyOf(params []string, desc protoreflect.MethodDescriptor) (Key, []error) {
	if len(params) == 0 {
		return Method(), nil // not used in the key: the rule is whole
	}
	if desc.IsStreamingClient() {
		return Key{}, []error{errors.New("params: the client streams, so there is no one request to take fields from")}
	}
	var f fields
	var errs []error
	for _, text := range params {
		p, err := parsePath(text)
		if err == nil {
			if err = p.check(desc.Input()); err != nil {
				err = fmt.Errorf("%q: %w", text, err)
			}
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("params: %w", err))
		}
		f = append(f, p)
	}
	return f.key(), errs
}
