package grpcmw

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/request"
)

// Fields returns a Key of fields of the request message, by their names in the .proto
// file; "order.id" is a field of a message in a field. One field is its value, several
// are a []any of their values in the given order.
//
// Strings, bytes, bools and integers are themselves; an enum is its name, or its number if
// that has none. Other fields are refused: floats, messages,
// lists, maps and groups. So google.protobuf.StringValue in the field name is
// "name.value".
//
// An empty string and empty bytes are a [*distlock.KeyError]. So is an absent field
// with presence: in a message that is not set, optional, in a oneof, or of proto2. A
// number, bool or enum without presence is 0 or false if it is absent, and that is a
// value. If 0 is not valid in your service, refuse it before the lock is taken, or with
// a [KeyFunc].
//
// Fields panics if there are no fields or a name is empty. An interceptor panics if its
// method has no such field.
func Fields(paths ...string) Key {
	if len(paths) == 0 {
		panic("grpcmw: Fields: no field")
	}
	var f fields
	for _, text := range paths {
		p, err := parsePath(text)
		if err != nil {
			panic("grpcmw: Fields: " + err.Error())
		}
		f = append(f, p)
	}
	return f.key()
}

type fields []fieldPath

func (f fields) key() Key { return Key{f.params, f.check} }

type fieldPath struct {
	text  string
	names []protoreflect.Name
}

func parsePath(text string) (fieldPath, error) {
	p := fieldPath{text: text}
	for name := range strings.SplitSeq(text, ".") {
		if name == "" {
			return p, errors.New("empty name in the path " + strconv.Quote(text))
		}
		p.names = append(p.names, protoreflect.Name(name))
	}
	return p, nil
}

func (f fields) params(_ context.Context, _ string, req any) (any, error) {
	m := reflectMessage(req)
	if m == nil {
		return nil, fmt.Errorf("grpcmw: Fields: the request is a %T, not a protobuf message that is linked into the program", req)
	}
	if len(f) == 1 {
		return f[0].value(m)
	}
	return request.Parts(len(f), func(i int) (any, error) { return f[i].value(m) })
}

func (f fields) check(d protoreflect.MessageDescriptor) error {
	if d == nil {
		return errors.New("the client streams, so there is no one request to take fields from: use Metadata")
	}
	for _, p := range f {
		if err := p.check(d); err != nil {
			return fmt.Errorf("Fields(%q): %w", p.text, err)
		}
	}
	return nil
}

// check walks down from d.
func (p *fieldPath) check(d protoreflect.MessageDescriptor) error {
	for i, name := range p.names {
		fd, err := field(d, name, i == len(p.names)-1)
		if err != nil {
			return err
		}
		d = fd.Message()
	}
	return nil
}

// value walks down from m. It looks up names in the message that it finds, because that
// may have another copy of its descriptor than the program.
func (p *fieldPath) value(m protoreflect.Message) (any, error) {
	for i := 0; ; i++ {
		last := i == len(p.names)-1
		fd, err := field(m.Descriptor(), p.names[i], last)
		if err != nil {
			return nil, fmt.Errorf("grpcmw: Fields(%q): %w", p.text, err)
		}
		if fd.HasPresence() && !m.Has(fd) {
			return nil, &distlock.KeyError{Detail: "field " + strconv.Quote(p.text) + " is missing"}
		}
		if last {
			return p.scalar(fd, m.Get(fd))
		}
		m = m.Get(fd).Message()
	}
}

func (p *fieldPath) scalar(fd protoreflect.FieldDescriptor, v protoreflect.Value) (any, error) {
	value := v.Interface()
	if n, ok := value.(protoreflect.EnumNumber); ok {
		value = int32(n)
		if name := fd.Enum().Values().ByNumber(n); name != nil {
			value = string(name.Name())
		}
	}
	if b, ok := value.([]byte); ok && len(b) == 0 || value == "" {
		return nil, &distlock.KeyError{Detail: "field " + strconv.Quote(p.text) + " is empty"}
	}
	return value, nil
}

// field returns the field with that name if it can be part of a key, or if it is a
// message on the path to such a field.
func field(d protoreflect.MessageDescriptor, name protoreflect.Name, last bool) (protoreflect.FieldDescriptor, error) {
	fd := d.Fields().ByName(name)
	switch {
	case fd == nil:
		return nil, fmt.Errorf("message %s has no field %q", d.FullName(), name)
	case fd.IsMap():
		return nil, fmt.Errorf("field %s is a map", fd.FullName())
	case fd.IsList():
		return nil, fmt.Errorf("field %s is repeated", fd.FullName())
	}
	switch fd.Kind() {
	case protoreflect.MessageKind:
		if last {
			return nil, fmt.Errorf("field %s is a message: name a field of it", fd.FullName())
		}
		return fd, nil
	case protoreflect.GroupKind, protoreflect.FloatKind, protoreflect.DoubleKind:
		return nil, fmt.Errorf("field %s is a %v, of which no key can be made", fd.FullName(), fd.Kind())
	}
	if !last {
		return nil, fmt.Errorf("field %s is a %v and has no fields", fd.FullName(), fd.Kind())
	}
	return fd, nil
}

// reflectMessage returns nil if m is not a message.
func reflectMessage(m any) protoreflect.Message {
	if v := reflect.ValueOf(m); v.Kind() == reflect.Pointer && v.IsNil() {
		return nil
	}
	switch m := m.(type) {
	case protoadapt.MessageV2:
		return m.ProtoReflect()
	case protoadapt.MessageV1: // generated by a protoc-gen-go of before 2020
		return protoadapt.MessageV2Of(m).ProtoReflect()
	default:
		return nil
	}
}
