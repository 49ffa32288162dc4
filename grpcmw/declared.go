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
		switch distlockv1.Mode(v.Enum()) {
		case distlockv1.Mode_MODE_EXCLUSIVE: // also the default
		case distlockv1.Mode_MODE_SHARED:
			*p = distlock.Shared
		default:
			return fmt.Errorf("is unknown: %d", v.Enum())
		}
	case *distlock.Reentry:
		switch distlockv1.Reentry(v.Enum()) {
		case distlockv1.Reentry_REENTRY_ALL: // also the default
		case distlockv1.Reentry_REENTRY_ONE:
			*p = distlock.ReentryOne
		case distlockv1.Reentry_REENTRY_NONE:
			*p = distlock.ReentryNone
		default:
			return fmt.Errorf("is unknown: %d", v.Enum())
		}
	default:
		return fmt.Errorf("has the unknown type %v", fd.Kind())
	}
	return nil
}
