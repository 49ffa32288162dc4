package optfield_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/distlock-go/distlock"
	distlockv1 "github.com/distlock-go/distlock/grpcmw/proto/distlock/v1"
	"github.com/distlock-go/distlock/internal/optfield"
)

// The table has the fields of Opts, in their order.
func TestFieldsAreThoseOfOpts(t *testing.T) {
	t.Parallel()
	opts := reflect.TypeFor[distlock.Opts]()
	var names []string
	for i := range opts.NumField() {
		names = append(names, opts.Field(i).Name)
	}
	var table []string
	for _, f := range optfield.All() {
		table = append(table, f.Name)
	}
	if !slices.Equal(table, names) {
		t.Fatalf("the table has %q, Opts has %q", table, names)
	}
	for _, f := range optfield.All() {
		if f.Of == nil {
			continue
		}
		var o distlock.Opts
		want := reflect.ValueOf(&o).Elem().FieldByName(f.Name).Addr().Interface()
		if f.Of(&o) != want {
			t.Errorf("%s: Of returns a pointer to another field", f.Name)
		}
	}
}

// The option in .proto files has the same fields, of types that fit.
func TestProtoHasTheSameFields(t *testing.T) {
	t.Parallel()
	descriptor := new(distlockv1.Lock).ProtoReflect().Descriptor().Fields()
	known := map[string]bool{}
	for _, f := range optfield.All() {
		name := f.Proto()
		if name == "" {
			continue
		}
		known[name] = true
		fd := descriptor.ByName(protoreflect.Name(name))
		if fd == nil {
			t.Errorf("lock.proto has no field %s", name)
			continue
		}
		if got, want := typeName(fd), typeOf(f); got != want {
			t.Errorf("%s in lock.proto is %s, want %s", name, got, want)
		}
	}
	for i := range descriptor.Len() {
		if name := string(descriptor.Get(i).Name()); !known[name] {
			t.Errorf("%s in lock.proto is not in the table", name)
		}
	}
}

func typeName(fd protoreflect.FieldDescriptor) string {
	name := fd.Kind().String()
	switch {
	case fd.Message() != nil:
		name = string(fd.Message().FullName())
	case fd.Enum() != nil:
		name = string(fd.Enum().FullName())
	}
	return strings.TrimSpace(fd.Cardinality().String() + " " + name)
}

func typeOf(f optfield.Field) string {
	if f.Of == nil {
		return "repeated string" // params
	}
	switch f.Of(new(distlock.Opts)).(type) {
	case *string:
		return "optional string"
	case *bool:
		return "optional bool"
	case *int:
		return "optional uint32"
	case *time.Duration:
		return "optional google.protobuf.Duration"
	case *distlock.Mode:
		return "optional distlock.v1.Mode"
	case *distlock.Reentry:
		return "optional distlock.v1.Reentry"
	default:
		return "an unknown type"
	}
}

func TestSet(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		option, text string
		want         distlock.Opts
		fault        string
	}{
		{"prefix", "a:", distlock.Opts{Prefix: "a:"}, ""},
		{"paramLock", "", distlock.Opts{ParamLock: true}, ""},
		{"fencing", "true", distlock.Opts{Fencing: true}, ""},
		{"fencing", "false", distlock.Opts{}, ""},
		{"fencing", "yes", distlock.Opts{}, `"yes" is neither true nor false`},
		{"permits", "-3", distlock.Opts{Permits: -3}, ""},
		{"permits", "x", distlock.Opts{}, `"x" is not a whole number`},
		{"maxWait", "1m30s", distlock.Opts{MaxWait: 90 * time.Second}, ""},
		{"maxWait", "10", distlock.Opts{}, "10 has no unit: write 10ms or 10s"},
		{"maxWait", "soon", distlock.Opts{}, `"soon" is not a duration, such as 10s, 200ms or 1m30s`},
		{"mode", "shared", distlock.Opts{Mode: distlock.Shared}, ""},
		{"mode", "exclusive", distlock.Opts{}, ""},
		{"mode", "both", distlock.Opts{}, `"both" is neither exclusive nor shared`},
		{"hasher", "h", distlock.Opts{}, "its value is Go code"},
	} {
		i := slices.IndexFunc(optfield.All(), func(f optfield.Field) bool { return f.Directive() == c.option })
		var o distlock.Opts
		err := optfield.All()[i].Set(&o, c.text)
		if err != nil {
			if err.Error() != c.fault {
				t.Errorf("%s:%s: %v, want %s", c.option, c.text, err, c.fault)
			}
		} else if c.fault != "" || !reflect.DeepEqual(o, c.want) { //nolint:govet // an Opts has an error only in a Selector, and there is none
			t.Errorf("%s:%s: %+v, want %+v, %s", c.option, c.text, o, c.want, c.fault)
		}
	}
}

// Every error of Validate is a fault, which can name its fields in any way.
func TestFaults(t *testing.T) {
	t.Parallel()
	err := distlock.Opts{
		Prefix: strings.Repeat("x", 199), ParamLock: true, Params: distlock.By[int](nil), Hasher: distlock.Keyed(make([]byte, 16)),
		KeyTimeout: -1, RetryCount: -1, RetryInterval: 1, MaxWait: 1 << 62, Mode: distlock.Shared, Permits: 1,
		MaxHold: time.Second, MinHold: time.Minute, Reentry: -1,
	}.Validate()
	faults := optfield.Faults(err)
	wrapped := new(distlock.Error)
	if !errors.As(err, &wrapped) {
		t.Fatal(err)
	}
	if lines := strings.Split(wrapped.Err.Error(), "\n"); len(faults) != len(lines) || len(lines) < 10 {
		t.Errorf("%d faults in\n%v", len(faults), wrapped.Err)
	}
	var texts []string
	for _, f := range faults {
		text := f.Rename(func(field string) string { return "<" + field + ">" })
		for _, field := range f.Fields() {
			if !strings.Contains(text, "<"+field+">") {
				t.Errorf("%q does not name %s", text, field)
			}
		}
		if plain := strings.NewReplacer("<", "", ">", "").Replace(text); plain != f.Error() {
			t.Errorf("%q is %q with other names", f.Error(), text)
		}
		texts = append(texts, text)
	}
	for _, want := range []string{"<MinHold> is above <MaxHold>: 1m0s, 1s", "<Permits> is set but <Mode> is shared: 1"} {
		if !slices.Contains(texts, want) {
			t.Errorf("%q does not have %q", texts, want)
		}
	}
	if optfield.Faults(nil) != nil || optfield.Faults(errors.New("other")) != nil {
		t.Error("faults where there are none")
	}
}
