package grpcmw

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/distlock-go/distlock"
	distlockv1 "github.com/distlock-go/distlock/proto/distlock/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/durationpb"
)

// FromOptions returns the rules that are written into .proto files, as the option
// (distlock.v1.lock) of an rpc:
//
//	import "distlock/v1/lock.proto";
//
//	rpc Pay(PayRequest) returns (PayResponse) {
//	  option (distlock.v1.lock) = {prefix: "shop:" value: "pay" params: ["order_id"] key_timeout: {seconds: 10}};
//	}
//
// It finds the option by reflection in the descriptors of all services that are
// linked into the program, those among them that the program only calls. Methods
// without it have no rule. The fields are those of [distlock.Opts] by the names
// that .proto files have for them, with the same defaults; params are names for
// [Fields]. Without params all calls of the method share one lock, that of a
// function that is locked without ParamLock.
//
// FromOptions panics with all that is wrong with any of the options: no value, a
// param that the request does not have or of which no key can be made, params
// where the client streams, a bad duration, a field that a newer version has and
// this one does not know. It panics too if no method has the option, which is
// what code looks like that was not generated anew.
func FromOptions() Rules { return fromFiles("FromOptions", protoregistry.GlobalFiles) }

// FromFiles is [FromOptions] for the services in files alone, which need not be
// linked into the program: those that it serves, or those of a proxy. It panics
// too if files is nil.
func FromFiles(files *protoregistry.Files) Rules {
	if files == nil {
		panic("grpcmw: FromFiles: nil Files")
	}
	return fromFiles("FromFiles", files)
}

func fromFiles(name string, files *protoregistry.Files) Rules {
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
		panic("grpcmw: " + name + ": " + strings.Join(lines, "\n"))
	case len(r.byMethod) == 0:
		panic("grpcmw: " + name + ": no method has the option (distlock.v1.lock)")
	}
	return r
}

// add adds the rule of a method if it has the option.
func (r Rules) add(desc protoreflect.MethodDescriptor, faults map[string][]error) {
	method := "/" + string(desc.Parent().FullName()) + "/" + string(desc.Name())
	lock, err := lockOption(desc)
	if err != nil {
		faults[method] = []error{err}
		return
	}
	if lock == nil {
		return
	}
	o, errs := optsOf(lock)
	key, keyErrs := keyOf(lock.GetParams(), desc)
	if errs = append(errs, keyErrs...); len(errs) > 0 {
		faults[method] = errs
		return
	}
	r.byMethod[method] = rule{Rule: Rule{Key: key, Opts: o}, desc: desc, whole: !o.ParamLock}
}

// lockOption returns nil if the method has no such option.
func lockOption(desc protoreflect.MethodDescriptor) (*distlockv1.Lock, error) {
	// Once to bytes and back: a descriptor that was made at run time may have the
	// option as a field that it does not know, or as a message made at run time.
	raw, err := proto.MarshalOptions{AllowPartial: true}.Marshal(desc.Options())
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	options := new(descriptorpb.MethodOptions)
	if err := (proto.UnmarshalOptions{AllowPartial: true}).Unmarshal(raw, options); err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	if !proto.HasExtension(options, distlockv1.E_Lock) {
		return nil, nil //nolint:nilnil // no option, which is not wrong
	}
	lock, ok := proto.GetExtension(options, distlockv1.E_Lock).(*distlockv1.Lock)
	if !ok {
		return nil, errors.New("is another option")
	}
	return lock, nil
}

// optsOf returns the Opts that the option declares.
func optsOf(lock *distlockv1.Lock) (distlock.Opts, []error) {
	var errs []error
	if n := len(lock.ProtoReflect().GetUnknown()); n > 0 {
		errs = append(errs, fmt.Errorf("has fields that this version of grpcmw does not know, %d bytes", n))
	}
	o := distlock.Opts{
		Prefix:     lock.GetPrefix(),
		Value:      lock.GetValue(),
		ParamLock:  len(lock.GetParams()) > 0,
		RetryCount: int(lock.GetRetryCount()),
		Permits:    int(lock.GetPermits()),
		Fencing:    lock.GetFencing(),
		NoWatchdog: lock.GetNoWatchdog(),
		MaxWaiters: int(lock.GetMaxWaiters()),
	}
	switch m := lock.GetMode(); m {
	case distlockv1.Mode_MODE_UNSPECIFIED, distlockv1.Mode_MODE_EXCLUSIVE:
	case distlockv1.Mode_MODE_SHARED:
		o.Mode = distlock.Shared
	default:
		errs = append(errs, fmt.Errorf("mode is unknown: %d", m))
	}
	for _, d := range [...]struct {
		field string
		from  *durationpb.Duration
		to    *time.Duration
	}{
		{"key_timeout", lock.GetKeyTimeout(), &o.KeyTimeout},
		{"retry_interval", lock.GetRetryInterval(), &o.RetryInterval},
		{"max_wait", lock.GetMaxWait(), &o.MaxWait},
		{"max_hold", lock.GetMaxHold(), &o.MaxHold},
		{"min_hold", lock.GetMinHold(), &o.MinHold},
	} {
		if d.from == nil {
			continue
		}
		*d.to = d.from.AsDuration()
		switch {
		case d.from.CheckValid() != nil:
			*d.to = 0
			errs = append(errs, fmt.Errorf("%s is no duration: %d seconds and %d nanos", d.field, d.from.GetSeconds(), d.from.GetNanos()))
		case *d.to == 0: // would be the default
			errs = append(errs, fmt.Errorf("%s is below one millisecond: 0s", d.field))
		}
	}
	if err := o.Validate(); err != nil {
		if named := new(distlock.Error); errors.As(err, &named) {
			err = named.Err
		}
		for line := range strings.SplitSeq(err.Error(), "\n") {
			errs = append(errs, errors.New(protoNames.Replace(line)))
		}
	}
	return o, errs
}

// protoNames makes what [distlock.Opts.Validate] says fit the .proto file.
var protoNames = strings.NewReplacer(
	"Prefix+Value ", "prefix + value ",
	"Value is ", "value is ",
	"KeyTimeout", "key_timeout",
	"RetryInterval", "retry_interval",
	"RetryCount", "retry_count",
	"MaxWait ", "max_wait ",
	"MaxHold", "max_hold",
	"MinHold", "min_hold",
	"MaxWaiters", "max_waiters",
	"Permits is ", "permits is ",
	"Mode is ", "mode is ",
)

// keyOf returns the Key of the params of a method.
func keyOf(params []string, desc protoreflect.MethodDescriptor) (Key, []error) {
	if len(params) == 0 {
		return Method(), nil // it does not become part of the key: the rule is whole
	}
	if desc.IsStreamingClient() {
		return nil, []error{errors.New("params: the client streams, so there is no one request to take fields from")}
	}
	f := &fields{}
	var errs []error
	for _, text := range params {
		p, err := parsePath(text)
		if err == nil {
			err = p.check(desc.Input())
			if err != nil {
				err = errors.New(strconv.Quote(text) + ": " + err.Error())
			}
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("params: %w", err))
		}
		f.paths = append(f.paths, p)
	}
	return f, errs
}
