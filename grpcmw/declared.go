package grpcmw

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/distlock-go/distlock"
	distlockv1 "github.com/distlock-go/distlock/grpcmw/proto/distlock/v1"
	"github.com/distlock-go/distlock/internal/optfield"
)

// optsOf returns the options that lock declares, and what is wrong with them, each with the name
// of its field in .proto files. Params is not set.
func optsOf(lock *distlockv1.Lock) (distlock.Opts, []error) {
	o := distlock.Opts{ParamLock: len(lock.GetParams()) > 0}
	m := lock.ProtoReflect()
	var errs []error
	if n := len(m.GetUnknown()); n > 0 {
		errs = append(errs, fmt.Errorf("has fields that this version of distlock does not know, %d bytes", n))
	}
	for _, f := range optfield.All() {
		fd := m.Descriptor().Fields().ByName(protoreflect.Name(f.Proto()))
		if f.Of == nil || fd == nil || !m.Has(fd) {
			continue
		}
		if err := setField(f.Of(&o), fd, m.Get(fd)); err != nil {
			errs = append(errs, fmt.Errorf("%s %w", fd.Name(), err))
		}
	}
	for _, fault := range optfield.Faults(o.Validate()) {
		errs = append(errs, errors.New(fault.Rename(optfield.ProtoName)))
	}
	return o, errs
}

// setField sets a field of Opts, to which p points, to a field of the option.
func setField(p any, fd protoreflect.FieldDescriptor, v protoreflect.Value) error {
	switch p := p.(type) {
	case *string:
		*p = v.String()
	case *bool:
		*p = v.Bool()
	case *int:
		*p = int(v.Uint())
	case *time.Duration:
		d, _ := v.Message().Interface().(*durationpb.Duration)
		switch {
		case d.CheckValid() != nil:
			return fmt.Errorf("is not a duration: %d seconds and %d nanos", d.GetSeconds(), d.GetNanos())
		case d.AsDuration() == 0: // would be the default
			return errors.New("is below one millisecond: 0s")
		}
		*p = d.AsDuration()
	case *distlock.Mode:
		return setEnum(p, v.Enum(), distlock.Exclusive, distlock.Shared)
	case *distlock.Reentry:
		return setEnum(p, v.Enum(), distlock.ReentryAll, distlock.ReentryOne, distlock.ReentryNone)
	default:
		return fmt.Errorf("has the unknown type %v", fd.Kind())
	}
	return nil
}

// setEnum sets p to the value of a number. They count from 1: 0 is an option that is not set.
func setEnum[T any](p *T, n protoreflect.EnumNumber, values ...T) error {
	if n < 1 || int(n) > len(values) {
		return fmt.Errorf("is unknown: %d", n)
	}
	*p = values[n-1]
	return nil
}
